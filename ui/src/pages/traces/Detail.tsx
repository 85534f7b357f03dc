/** One operation: its time by stage and the result of every candidate; compared with another one, the changes. */
import { useState } from "preact/hooks";
import { useShortcuts } from "../../core/keys";
import { useLoad } from "../../core/load";
import type { Trace } from "../../core/types";
import { go, here, place, withQuery } from "../../core/route";
import { profile } from "../../core/session";
import { exactly, milliseconds } from "../../core/when";
import { Button, LinkButton } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Page } from "../../parts/Page";
import { Bones, Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { Candidates, ItemLine } from "./Candidates";
import { Compare } from "./Compare";
import { again, gist, type Items, kindOf, outcomeOf, questionOf } from "./outcome";
import { REPLAY, turnName } from "./turns";
import { Waterfall } from "./Waterfall";

export function Detail({ id }: { id: string }) {
  const of = profile.value!;
  const other = place.value.query.get("with");
  const trace = useLoad((stop) => of.trace(id, stop), [of.path, id]);
  const items = useItems(id);
  const [choosing, setChoosing] = useState(false);
  const found = trace.value;
  const back = here("traces", [], { session: found?.caller.session_id });
  const repeat = found && again(found);
  const replay = async () => {
    if (found === undefined || repeat == null) return;
    const made = await replayed(found);
    if (repeat.lost.length > 0) toast(t.traces.lost(repeat.lost), { wrong: true });
    go(here("traces", [id], { with: made }));
  };
  useShortcuts([
    { keys: "Escape", does: t.traces.back, group: t.traces.title, act: () => go(other === null ? back : withQuery({ with: null })) },
    { keys: "y", does: t.traces.replay, group: t.traces.title, act: () => void replay() },
  ]);
  const title = found === undefined ? t.traces.one : questionOf(found) ?? t.traces.operations[found.operation] ?? found.operation;
  const actions = (
    <>
      <LinkButton href={back} icon="back" look="plain">
        {t.traces.back}
      </LinkButton>
      {repeat != null && <Button onClick={() => setChoosing(true)}>{t.traces.compare}</Button>}
      {repeat != null && (
        <Button look="primary" icon="reload" onClick={replay}>
          {t.traces.replay}
        </Button>
      )}
    </>
  );
  return (
    <Page title={title} about={found && <Who trace={found} />} actions={actions}>
      <Shown of={trace} lines={8}>
        {(read) => (other !== null ? <Beside one={read} other={other} items={items} /> : <Whole trace={read} items={items} />)}
      </Shown>
      {choosing && found && <Choose trace={found} onClose={() => setChoosing(false)} />}
    </Page>
  );
}

/** What the trace names, by id; undefined until it is read. */
function useItems(id: string): Items | undefined {
  const of = profile.value!;
  const read = useLoad(async (stop) => (await of.traced(id, stop)).items, [of.path, id, "items"]);
  return read.value && new Map(read.value.map((each) => [each.id, each]));
}

/** Ask the same again, of the memory as it is now; the id of the trace that this leaves. */
async function replayed(trace: Trace): Promise<string> {
  const of = profile.value!;
  const turn = `${REPLAY}${trace.id}-${Date.now()}`;
  const { route, body } = again(trace)!;
  await of.ask("POST", route, { body, headers: { "holdfast-turn": turn } });
  const { traces } = await of.traces({ turn, limit: 1 });
  if (traces[0] === undefined) throw new Error(t.traces.notKept);
  return traces[0].id;
}

function Who({ trace }: { trace: Trace }) {
  const { session_id, turn_id, agent, credential } = trace.caller;
  const parts = [
    t.traces.operations[trace.operation] ?? trace.operation,
    agent,
    session_id && <a href={here("traces", [], { session: session_id })}>{session_id}</a>,
    turn_id && turnName(turn_id),
    credential && <span title={credential}>{t.traces.credential(credential)}</span>,
  ].filter(Boolean);
  return (
    <>
      {parts.map((part, n) => (
        <span key={n}>{part} · </span>
      ))}
      <span title={exactly(trace.at)}>
        <Ago at={trace.at} />
      </span>
    </>
  );
}

function Whole({ trace, items }: { trace: Trace; items: Items | undefined }) {
  const came = outcomeOf(trace);
  const { asked = {}, error } = trace.details;
  return (
    <div class="traces-detail">
      <section class="card">
        <div class="section-head">
          <h2>{t.traces.time}</h2>
          <span class={`small ${error ? "wrong" : "quiet"}`}>{came || gist(trace, items)}</span>
        </div>
        <Waterfall trace={trace} />
        {Object.keys(asked).length > 0 && (
          <p class="traces-asked small quiet">
            {Object.entries(asked).map(([name, value]) => (
              <Tag key={name}>
                {name} {name === "narrowed" ? "" : String(value)}
                {name === "narrowed" && Array.isArray(value) ? value.join(", ") : ""}
              </Tag>
            ))}
          </p>
        )}
      </section>
      {kindOf(trace) === "read" ? <Candidates trace={trace} items={items} /> : <Touched trace={trace} items={items} />}
    </div>
  );
}

/** What a write kept, wrote, drew or superseded. */
function Touched({ trace, items }: { trace: Trace; items: Items | undefined }) {
  const { details } = trace;
  const groups: [string, string[]][] = [
    [t.traces.touched.new, details.new ?? []],
    [t.traces.touched.digested, details.digested ?? []],
    [t.traces.touched.drawn, details.drawn ?? []],
    [t.traces.touched.written, typeof details.written === "string" ? [details.written] : []],
    [t.traces.touched.superseded, details.superseded ?? []],
  ];
  const shown = groups.filter(([, ids]) => ids.length > 0);
  if (shown.length === 0) return <p class="quiet">{t.traces.namesNothing}</p>;
  if (items === undefined) return <Bones />;
  return (
    <>
      {shown.map(([name, ids]) => (
        <section key={name}>
          <h2 class="traces-touched">{name}</h2>
          <ul class="traces-list">
            {ids.map((id) => (
              <li key={id}>
                <ItemLine id={id} items={items} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Beside({ one, other, items }: { one: Trace; other: string; items: Items | undefined }) {
  const of = profile.value!;
  const second = useLoad((stop) => of.trace(other, stop), [of.path, other]);
  const more = useItems(other);
  return <Shown of={second}>{(read) => <Compare before={one} after={read} items={new Map([...(items ?? []), ...(more ?? [])])} />}</Shown>;
}

function Choose({ trace, onClose }: { trace: Trace; onClose: () => void }) {
  const of = profile.value!;
  const question = questionOf(trace);
  const others = useLoad(async (stop) => {
    const { traces } = await of.traces({ limit: 200 }, stop);
    const reads = traces.filter((each) => kindOf(each) === "read" && each.id !== trace.id && questionOf(each) !== null);
    return reads.sort((a, b) => Number(questionOf(b) === question) - Number(questionOf(a) === question)).slice(0, 60);
  }, [of.path, trace.id, "others"]);
  return (
    <Dialog title={t.traces.compareWith} onClose={onClose}>
      <Shown of={others}>
        {(found) =>
          found.length === 0 ? (
            <p class="quiet">{t.traces.nothingToCompare}</p>
          ) : (
            <ul class="traces-list">
              {found.map((each) => (
                <li key={each.id}>
                  <a class="traces-other" href={here("traces", [trace.id], { with: each.id })} onClick={onClose}>
                    <span class="clip">{questionOf(each)}</span>
                    <span class="quiet small numbers">
                      {t.traces.operations[each.operation]} · {milliseconds(each.milliseconds)} · <Ago at={each.at} />
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Dialog>
  );
}

