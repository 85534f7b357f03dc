/** The profile on one page: its summary, numbers, last sessions and live changes. */
import "./home.css";
import { root } from "../core/api";
import { listening, recent, useChanges } from "../core/live";
import { useLoad } from "../core/load";
import type { Happened, Session, Stats } from "../core/types";
import { here } from "../core/route";
import { profile } from "../core/session";
import { bytes, count } from "../core/when";
import { Growth } from "../parts/Growth";
import { Page } from "../parts/Page";
import { Prose } from "../parts/Prose";
import { Snippet } from "../parts/Snippet";
import { Empty, Progress, Shown, Trouble } from "../parts/States";
import { Ago, Tag } from "../parts/Tag";
import { t } from "../strings";

const SESSIONS = 6;

export default function Home() {
  const of = profile.value!;
  const stats = useLoad((stop) => of.stats(stop), [of.path, "stats"]);
  const summary = useLoad((stop) => of.summary(stop), [of.path, "summary"]);
  const sessions = useLoad((stop) => of.sessions(stop), [of.path, "sessions"]);
  useChanges(["memory.", "message.", "digestion", "reset"], () => [stats, summary].forEach((each) => each.again()), 800);
  useChanges(["message.", "reset"], sessions.again, 3000); // it reads every message
  const counted = stats.value;
  const empty = counted !== undefined && counted.messages === 0 && counted.memories === 0;
  if (counted === undefined && stats.failure !== null) {
    return (
      <Page title={of.name}>
        <Trouble failure={stats.failure} again={() => [stats, summary, sessions].forEach((each) => each.again())} />
      </Page>
    );
  }
  return (
    <Page title={of.name} about={counted && t.home.about(counted.memories, counted.sessions)} actions={<Live />}>
      {empty ? (
        <Empty title={t.home.empty}>
          <p>{t.home.emptyAbout}</p>
          <Snippet code={t.home.snippet(root, of.namespace, of.name)} />
        </Empty>
      ) : (
        <>
          <Shown of={stats} lines={2}>
            {(found) => <Figures stats={found} />}
          </Shown>
          <div class="home-columns">
            <section class="card home-summary">
              <h2>{t.home.summary}</h2>
              <Shown of={summary} lines={8}>
                {(found) => (found.summary ? <Prose markdown={found.summary} /> : <p class="quiet">{t.home.emptySummary}</p>)}
              </Shown>
            </section>
            <div class="home-side">
              <section>
                <h2>{t.home.sessions}</h2>
                <Shown of={sessions}>{(found) => <Sessions sessions={found.sessions} />}</Shown>
              </section>
              <section>
                <h2>{t.home.activity}</h2>
                <Activity />
              </section>
            </div>
          </div>
        </>
      )}
    </Page>
  );
}

function Live() {
  return <span class={`live-dot ${listening.value ? "on" : ""}`}>{listening.value ? t.home.live : t.home.notLive}</span>;
}

function Figures({ stats }: { stats: Stats }) {
  const kinds = Object.entries(stats.kinds).sort(([, a], [, b]) => b - a);
  const figures: [string, string][] = [
    [count(stats.memories), t.home.figures.memories],
    [count(stats.messages), t.home.figures.messages],
    [count(stats.sessions), t.home.figures.sessions],
    [count(stats.superseded), t.home.figures.superseded],
    [bytes(stats.bytes), t.home.figures.size],
  ];
  return (
    <>
      <dl class="figures numbers">
        {figures.map(([figure, name]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </div>
        ))}
      </dl>
      {kinds.length > 0 && (
        <p class="home-kinds" aria-label={t.home.kinds}>
          {kinds.map(([kind, n]) => (
            <a key={kind} class="tag" href={here("memories", [], { kind })}>
              {kind} <span class="quiet numbers">{count(n)}</span>
            </a>
          ))}
        </p>
      )}
      <Growth said={stats.said_on} written={stats.written_on} />
      <Pending stats={stats} />
    </>
  );
}

function Pending({ stats }: { stats: Stats }) {
  if (stats.pending === 0 && stats.set_aside === 0) return null;
  const done = stats.messages === 0 ? 0 : (100 * (stats.messages - stats.pending)) / stats.messages;
  return (
    <section class="home-pending">
      {stats.pending > 0 && (
        <>
          <div class="section-head">
            <strong>{t.home.pending(stats.pending)}</strong>
            <span class="quiet small">{t.home.pendingAbout}</span>
          </div>
          <Progress percent={done} label={t.home.pending(stats.pending)} />
        </>
      )}
      {stats.failing > 0 && <p class="small quiet">{t.home.failing(stats.failing)}</p>}
      {stats.set_aside > 0 && <p class="small">{t.home.aside(stats.set_aside)}</p>}
    </section>
  );
}

function Sessions({ sessions }: { sessions: Session[] }) {
  const last = [...sessions].sort((a, b) => (a.last < b.last ? 1 : -1)).slice(0, SESSIONS);
  if (last.length === 0) return <p class="quiet small">{t.home.noSessions}</p>;
  return (
    <ul class="lines">
      {last.map((session) => (
        <li key={session.id}>
          <a class="clip" href={here("memories", [], { session: session.id })}>
            {session.id}
          </a>
          <span class="quiet small numbers">
            {t.home.sessionOf(session.messages)} · <Ago at={session.last} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Activity() {
  const events = recent.value.slice(0, 8);
  if (events.length === 0) return <p class="quiet small">{t.home.quiet}</p>;
  return (
    <ul class="lines" aria-live="polite">
      {events.map((event) => (
        <li key={event.n}>
          <EventName event={event} />
          <span class="quiet small">
            <Ago at={event.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function EventName({ event }: { event: Happened }) {
  const name = t.home.events[event.type] ?? event.type;
  const id = typeof event.id === "string" && !event.type.endsWith("forgotten") ? event.id : null;
  if (id === null) return <span>{name}</span>;
  return (
    <a class="clip" href={here("memories", [id])}>
      {name} {typeof event.kind === "string" && <Tag>{event.kind}</Tag>}
    </a>
  );
}
