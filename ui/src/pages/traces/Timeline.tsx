/** Turn by turn: the messages, the operations they caused, and their duration. */
import { useState } from "preact/hooks";
import { root, SELF } from "../../core/api";
import { useShortcuts } from "../../core/keys";
import { useChanges } from "../../core/live";
import { useLoad } from "../../core/load";
import type { Memory, Message, Trace } from "../../core/types";
import { go, here, place, withQuery } from "../../core/route";
import { profile } from "../../core/session";
import { exactly, milliseconds } from "../../core/when";
import { Button } from "../../parts/Button";
import { Select } from "../../parts/Field";
import { Page } from "../../parts/Page";
import { Snippet } from "../../parts/Snippet";
import { Empty, Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { gist, type Items, kindOf, outcomeOf } from "./outcome";
import { type Turn, turnName, turnsOf } from "./turns";
import { Strip } from "./Waterfall";

const PAGE = 100;
const MEMORIES = 500;

interface Read {
  traces: Trace[];
  cursor: string | null;
  messages: Message[];
  memories: Memory[];
}

export function Timeline() {
  const of = profile.value!;
  const session = place.value.query.get("session") ?? "";
  const show = place.value.query.get("show") ?? "";
  const [pages, setPages] = useState(1);
  const sessions = useLoad((stop) => of.sessions(stop), [of.path, "sessions"]);
  const read = useLoad((stop) => everything(session, pages, stop), [of.path, session, pages]);
  useChanges(["m", "digestion", "reset"], read.again, 1500);
  useShortcuts([{ keys: "r", does: t.traces.reload, group: t.traces.title, act: read.again }]);
  const known = [...(sessions.value?.sessions ?? [])].sort((a, b) => (a.last < b.last ? 1 : -1)).map((each) => each.id);
  const names = session === "" || known.includes(session) ? known : [session, ...known];
  return (
    <Page title={t.traces.title} about={t.traces.about}>
      <div class="traces-which">
        <Select label={t.traces.session} value={session} onInput={(value) => go(withQuery({ session: value }))} options={[["", t.traces.allSessions], ...names.map((each): [string, string] => [each, each])]} />
        <Select label={t.traces.show} value={show} onInput={(value) => go(withQuery({ show: value }))} options={t.traces.shows} />
        <Button icon="reload" label={t.traces.reload} onClick={read.again} />
      </div>
      <Shown of={read} lines={9}>
        {(found) => {
          const turns = turnsOf(found.traces.filter((each) => wanted(each, show)), found.messages);
          if (turns.length === 0) return <Nothing session={session} />;
          const items: Items = new Map([...found.memories, ...found.messages].map((each) => [each.id, each]));
          return (
            <>
              <ol class="traces-turns">
                {turns.map((turn) => (
                  <OneTurn key={turn.key} turn={turn} items={items} memories={found.memories} alone={session !== ""} />
                ))}
              </ol>
              {found.cursor !== null && <Button onClick={() => setPages(pages + 1)}>{t.traces.older}</Button>}
            </>
          );
        }}
      </Shown>
    </Page>
  );
}

async function everything(session: string, pages: number, stop: AbortSignal): Promise<Read> {
  const of = profile.value!;
  const within = session === "" ? {} : { session_id: session };
  const [messages, memories] = await Promise.all([
    session === "" ? { messages: [] } : of.messages(session, 1000, stop),
    of.list({ ...within, limit: MEMORIES }, stop),
  ]);
  const traces: Trace[] = [];
  let cursor: string | null = null;
  for (let n = 0; n < pages; n++) {
    const page: { traces: Trace[]; cursor: string | null } = await of.traces({ session: session || undefined, limit: PAGE, cursor }, stop);
    traces.push(...page.traces);
    cursor = page.cursor;
    if (cursor === null) break;
  }
  return { traces, cursor, messages: messages.messages, memories: memories.memories };
}

function wanted(trace: Trace, show: string): boolean {
  if (show === "all") return true;
  const kind = kindOf(trace);
  const own = trace.caller.agent === SELF && kind === "look";
  return !own && kind !== "look" && (show === "" || kind === show);
}

function OneTurn({ turn, items, memories, alone }: { turn: Turn; items: Items; memories: Memory[]; alone: boolean }) {
  const whole = turn.traces.reduce((sum, each) => sum + each.milliseconds, 0);
  const agents = [...new Set(turn.traces.map((each) => each.caller.agent).filter(Boolean))];
  const at = new Date(turn.at).toISOString();
  const spoke = turn.messages.length > 0 || turn.traces.some((each) => each.operation === "ingest");
  let from = 0;
  return (
    <li class="traces-turn">
      <header>
        <h2>{turn.name !== null ? turnName(turn.name) : spoke ? t.traces.said : t.traces.unnamed}</h2>
        <span class="quiet small">
          {!alone && turn.session !== null && (
            <>
              <a href={withQuery({ session: turn.session })}>{turn.session}</a> ·{" "}
            </>
          )}
          {agents.length > 0 && <>{agents.join(", ")} · </>}
          <Ago at={at} />
          {whole > 0 && <span class="numbers"> · {milliseconds(whole)}</span>}
        </span>
      </header>
      {turn.messages.length > 0 && (
        <ul class="traces-said">
          {turn.messages.map((message) => (
            <Said key={message.id} message={message} drawn={memories.filter((each) => each.sources.includes(message.id))} />
          ))}
        </ul>
      )}
      {turn.traces.length > 0 && (
        <ul class="traces-ops">
          {turn.traces.map((trace) => {
            const line = <Line key={trace.id} trace={trace} items={items} from={from} all={whole} />;
            from += trace.milliseconds;
            return line;
          })}
        </ul>
      )}
      {turn.traces.length === 0 && <p class="quiet small">{t.traces.noLonger}</p>}
    </li>
  );
}

function Said({ message, drawn }: { message: Message; drawn: Memory[] }) {
  return (
    <li>
      <span class="quiet small">{message.speaker ?? t.roles[message.role] ?? message.role}</span>
      <p>
        {message.content.length > 400 ? `${message.content.slice(0, 400)}…` : message.content}
        {message.pending && <Tag>{t.traces.pending}</Tag>}
      </p>
      {drawn.map((memory) => (
        <a key={memory.id} class="traces-drawn" href={here("memories", [memory.id])}>
          <Tag look="accent">{memory.kind}</Tag> <span>{memory.content}</span>
        </a>
      ))}
    </li>
  );
}

function Line({ trace, items, from, all }: { trace: Trace; items: Items; from: number; all: number }) {
  const came = outcomeOf(trace);
  return (
    <li>
      <a class={`traces-op ${kindOf(trace)}`} href={here("traces", [trace.id])} title={exactly(trace.at)}>
        <span class="verb">{t.traces.operations[trace.operation] ?? trace.operation}</span>
        <span class="gist clip">{gist(trace, items)}</span>
        <span class={`came small ${trace.details.error ? "wrong" : "quiet"}`}>{came}</span>
        <Strip trace={trace} from={from} all={all} />
        <span class="took quiet small numbers">{milliseconds(trace.milliseconds)}</span>
      </a>
    </li>
  );
}

function Nothing({ session }: { session: string }) {
  const of = profile.value!;
  return (
    <Empty title={t.traces.empty}>
      <p>{t.traces.emptyAbout}</p>
      <Snippet code={t.traces.snippet(root, of.namespace, of.name, session || "chat-7")} />
    </Empty>
  );
}
