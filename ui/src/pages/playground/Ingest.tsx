/** Ingests a conversation and shows the result live: messages, new memories, superseded ones. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useEvents } from "../../core/live";
import { type Happened, type Job, type Memory, versionRef } from "../../core/types";
import { isMemory } from "../../core/profile";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { Button, LinkButton } from "../../parts/Button";
import { TextArea, TextField } from "../../parts/Field";
import { Progress, Trouble } from "../../parts/States";
import { asFailure, type Failure } from "../../core/api";
import { Tag } from "../../parts/Tag";
import { t } from "../../strings";

const POLL_MS = 700;
const ROLES: Record<string, string> = { user: "user", me: "user", assistant: "assistant", agent: "assistant", ai: "assistant", system: "system", tool: "tool" };

export interface Said {
  role: string;
  content: string;
}

/** "User: …" and "Assistant: …", each on its own line; a line without a name continues the message before, or is the user's. */
export function conversation(text: string): Said[] {
  const said: Said[] = [];
  for (const line of text.split("\n")) {
    const named = /^\s*(\w+)\s*:\s*(.*)$/.exec(line);
    const role = named && ROLES[named[1]!.toLowerCase()];
    const last = said.at(-1);
    if (role) said.push({ role, content: named[2]! });
    else if (line.trim() === "") continue;
    else if (last !== undefined) last.content = `${last.content}\n${line.trim()}`.trim();
    else said.push({ role: "user", content: line.trim() });
  }
  return said.filter((each) => each.content !== "");
}

interface Drawn {
  memory: Memory;
  before: Memory | null;
}

interface Watching {
  session: string;
  job: string | null;
  before: string;
}

export function Ingest() {
  const of = profile.value!;
  const [text, setText] = useState("");
  const [session, setSession] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [watching, setWatching] = useState<Watching | null>(null);
  const [round, setRound] = useState(0);
  const said = conversation(text);
  const tell = async (event: Event) => {
    event.preventDefault();
    setFailure(null);
    try {
      const { summary } = await of.summary().catch(() => ({ summary: "" }));
      const receipt = await of.ingest({ messages: said, session_id: session.trim() || undefined });
      setWatching({ session: receipt.session_id, job: receipt.job, before: summary });
      setRound(round + 1);
      setText("");
    } catch (wrong) {
      setFailure(asFailure(wrong));
    }
  };
  return (
    <div class="playground">
      <form class="playground-tell" onSubmit={(event) => void tell(event)}>
        <TextArea label={t.playground.conversation} value={text} onInput={setText} rows={7} placeholder={t.playground.conversationExample} />
        <div class="playground-tell-foot">
          <TextField label={t.playground.session} value={session} onInput={setSession} placeholder={t.playground.sessionHint} mono />
          <Button type="submit" look="primary" disabled={said.length === 0}>
            {said.length === 0 ? t.playground.tell : t.playground.tellCount(said.length)}
          </Button>
          {text === "" && <Button onClick={() => setText(t.playground.conversationExample)}>{t.playground.useExample}</Button>}
        </div>
      </form>
      {failure && <Trouble failure={failure} />}
      {watching === null ? <p class="quiet">{t.playground.tellAbout}</p> : <Watch key={round} of={watching} />}
    </div>
  );
}

function Watch({ of: { session, job, before } }: { of: Watching }) {
  const of = profile.value!;
  const [status, setStatus] = useState<Job | null>(null);
  const [drawn, setDrawn] = useState<Drawn[]>([]);
  const [summary, setSummary] = useState<string | null>(null);
  const seen = useRef(new Set<string>());
  const show = async (id: string) => {
    const { versions } = await of.history(id);
    const memory = versions.find((each) => versionRef(each) === id) ?? versions[0];
    if (memory === undefined || !isMemory(memory) || seen.current.has(versionRef(memory))) return;
    seen.current.add(versionRef(memory));
    const before = versions.find((each) => each.superseded_by === versionRef(memory)) ?? null;
    setDrawn((all) => [...all, { memory, before }]);
  };
  useEvents(["memory.added"], (event: Happened) => {
    if (typeof event.id === "string" && event.session_id === session) void show(event.id).catch(() => {});
  });
  useEffect(() => {
    if (job === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      const found = await of.ask<Job>("GET", `jobs/${encodeURIComponent(job)}`);
      setStatus(found);
      await Promise.all(found.memories.map(show));
      if (found.state === "waiting") timer = setTimeout(() => void look().catch(() => {}), POLL_MS);
      else setSummary((await of.summary()).summary);
    };
    void look().catch(() => {});
    return () => clearTimeout(timer);
  }, [job]);
  const done = status !== null && status.state !== "waiting";
  const old = new Set(before.split("\n"));
  return (
    <section class="playground-watch" aria-live="polite">
      <div class="section-head">
        <h2>{status === null ? t.playground.kept : t.playground.states[status.state] ?? status.state}</h2>
        <LinkButton href={here("traces", [], { session })} icon="traces" look="plain">
          {t.playground.timeline}
        </LinkButton>
      </div>
      <Progress percent={status === null ? undefined : status.total === 0 ? 100 : (100 * status.done) / status.total} label={t.playground.digesting} />
      <ul class="playground-drawn">
        {drawn.map(({ memory, before: older }) => (
          <li key={memory.id}>
            <Tag look="accent">{memory.kind}</Tag>
            <div>
              <a href={here("memories", [memory.id])}>{memory.content}</a>
              {older !== null && (
                <p class="small quiet">
                  {t.playground.supersedes} <del>{older.content}</del>
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
      {done && drawn.length === 0 && <p class="quiet">{t.playground.nothingDrawn}</p>}
      {summary !== null && (
        <div class="card playground-summary">
          <h2>{t.playground.summary}</h2>
          {summary
            .split("\n")
            .filter((line) => line.trim() !== "")
            .map((line, n) => {
              const heading = /^#+ (.*)/.exec(line);
              const words = (heading?.[1] ?? line).replace(/^\s*[-*] /, "");
              return heading ? <h3 key={n}>{words}</h3> : <p key={n}>{old.has(line) ? words : <ins>{words}</ins>}</p>;
            })}
        </div>
      )}
    </section>
  );
}
