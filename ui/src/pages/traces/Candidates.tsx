/** Every candidate of a search: its result and the reason, its rank in each channel, and what moved its score. */
import { useState } from "preact/hooks";
import type { Searched, Trace } from "../../core/types";
import { isMemory } from "../../core/profile";
import { here } from "../../core/route";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { type Candidate, candidates, type Items, reached } from "./outcome";

const FIRST = 30;

export function Candidates({ trace, items }: { trace: Trace; items: Items | undefined }) {
  const searches = trace.details.searches ?? [];
  const [at, setAt] = useState(0);
  const search = searches[at];
  if (search === undefined) return <p class="quiet">{t.traces.noSearch}</p>;
  return (
    <section>
      {searches.length > 1 && (
        <div class="actions traces-searches">
          {searches.map((each, n) => (
            <Button key={n} small pressed={n === at} look={n === at ? "primary" : undefined} onClick={() => setAt(n)}>
              {n === 0 ? t.traces.firstSearch : each.question.text.slice(0, 40)}
            </Button>
          ))}
        </div>
      )}
      <Searching key={at} trace={trace} search={search} items={items} />
    </section>
  );
}

function Searching({ trace, search, items }: { trace: Trace; search: Searched; items: Items | undefined }) {
  const [channel, setChannel] = useState<string | null>(null);
  const [all, setAll] = useState(false);
  const found = candidates(trace, search);
  const sorted = channel === null ? found : found.filter((each) => channel in each.channels).sort((a, b) => a.channels[channel]! - b.channels[channel]!);
  const told = channel === null ? sorted.filter((each) => reached(each.fate, trace.operation)).sort((a, b) => a.place! - b.place!) : [];
  const rest = sorted.filter((each) => !told.includes(each));
  if (channel === null) rest.sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
  const shown = all ? rest : rest.slice(0, FIRST);
  const { words, window } = search.question;
  const list = (some: Candidate[]) => (
    <ol class="traces-candidates">
      {some.map((each) => (
        <One key={each.id} candidate={each} operation={trace.operation} items={items} channel={channel} />
      ))}
    </ol>
  );
  return (
    <>
      <div class="section-head traces-head">
        <h2>{t.traces.candidates}</h2>
        <span class="quiet small">{t.traces.understood(words, window)}</span>
      </div>
      <div class="actions traces-channels" role="group" aria-label={t.traces.byChannel}>
        <Chip pressed={channel === null} name={t.traces.everyChannel} many={found.length} onClick={() => setChannel(null)} />
        {Object.entries(search.channels).map(([name, ids]) => (
          <Chip key={name} pressed={channel === name} name={t.traces.channels[name] ?? name} many={ids.length} onClick={() => setChannel(name)} />
        ))}
      </div>
      {found.length === 0 && <p class="quiet">{t.traces.foundNothing}</p>}
      {told.length > 0 && (
        <>
          <h3 class="traces-group">
            {t.traces.told[trace.operation]} <span class="quiet numbers">{told.length}</span>
          </h3>
          {list(told)}
        </>
      )}
      {channel === null && rest.length > 0 && (
        <h3 class="traces-group">
          {t.traces.leftOut} <span class="quiet numbers">{rest.length}</span>
        </h3>
      )}
      {list(shown)}
      {rest.length > shown.length && (
        <div class="traces-more">
          <Button onClick={() => setAll(true)}>{t.traces.showAll(rest.length)}</Button>
        </div>
      )}
    </>
  );
}

function Chip({ pressed, name, many, onClick }: { pressed: boolean; name: string; many: number; onClick: () => void }) {
  return (
    <button type="button" class="traces-chip" aria-pressed={pressed} onClick={onClick}>
      {name} <span class="numbers">{many}</span>
    </button>
  );
}

function One({ candidate, operation, items, channel }: { candidate: Candidate; operation: string; items: Items | undefined; channel: string | null }) {
  const { id, fate, why, instead, score, reasons, features } = candidate;
  const place = channel === null ? candidate.place : candidate.channels[channel];
  const good = reached(fate, operation);
  const moved = Object.entries(reasons).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  return (
    <li class={good ? "" : "out"}>
      <details>
        <summary>
          <span class="place numbers quiet">{place ?? "–"}</span>
          <span class={`mark ${good ? "yes" : ""}`}>{good && <Icon name="check" size={16} />}</span>
          <span class="what">
            <ItemText id={id} items={items} />
            <span class="fate small">
              <Tag look={good ? "accent" : undefined}>{t.traces.fates[fate]}</Tag> <span class="quiet">{why}</span>
            </span>
          </span>
          <span class="score numbers small quiet">{score === null ? "" : score.toFixed(2)}</span>
        </summary>
        <div class="traces-why">
          <dl class="traces-ranks">
            {Object.entries(candidate.channels).map(([name, rank]) => (
              <div key={name}>
                <dt>{t.traces.channels[name] ?? name}</dt>
                <dd class="numbers">{t.traces.rank(rank)}</dd>
              </div>
            ))}
          </dl>
          {moved.length > 0 && <Reasons moved={moved} />}
          {Object.keys(features).length > 0 && (
            <p class="traces-features small quiet numbers">
              {Object.entries(features).map(([name, value]) => (
                <span key={name}>
                  {name} {value}
                </span>
              ))}
            </p>
          )}
          <p class="actions small">
            <a href={here("memories", [id])}>{t.traces.open}</a>
            {instead !== null && <a href={here("memories", [instead])}>{t.traces.openInstead}</a>}
          </p>
        </div>
      </details>
    </li>
  );
}

const HALF = 100;

/** Bars to the right lifted it, bars to the left pushed it down. */
function Reasons({ moved }: { moved: [string, number][] }) {
  const most = Math.max(...moved.map(([, by]) => Math.abs(by)), 0.001);
  return (
    <dl class="traces-reasons" aria-label={t.traces.reasons}>
      {moved.map(([name, by]) => {
        const wide = (HALF * Math.abs(by)) / most;
        return (
          <div key={name}>
            <dt>{t.traces.features[name] ?? name.replaceAll("_", " ")}</dt>
            <dd>
              <svg viewBox={`0 0 ${2 * HALF} 8`} preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" x={HALF - 0.5} y="0" width="1" height="8" />
                <rect class={by > 0 ? "up" : "down"} x={by > 0 ? HALF : HALF - wide} y="1" width={Math.max(1, wide)} height="6" />
              </svg>
              <span class="numbers">{by > 0 ? `+${by.toFixed(2)}` : by.toFixed(2)}</span>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function ItemText({ id, items }: { id: string; items: Items | undefined }) {
  const item = items?.get(id);
  if (item === undefined) return <span class="quiet">{items === undefined ? t.loading : t.traces.forgotten}</span>;
  const text = item.content.length > 220 ? `${item.content.slice(0, 220)}…` : item.content;
  return (
    <span class="text">
      <span class="quiet small">{isMemory(item) ? item.kind : (item.speaker ?? t.roles[item.role] ?? item.role)}</span> {text}
      {isMemory(item) && item.superseded_by !== null && <Tag>{t.traces.supersededSince}</Tag>}
    </span>
  );
}

export function ItemLine({ id, items }: { id: string; items: Items }) {
  if (!items.has(id)) return <ItemText id={id} items={items} />;
  return (
    <a class="traces-item" href={here("memories", [id])}>
      <ItemText id={id} items={items} />
    </a>
  );
}
