/** One profile over the API: its verbs under the names they have everywhere else. Add the verbs of a page here. */
import { address, call, send, type Asked } from "./api";
import type {
  Answer, Context, Document, Drawn, Entity, Forgotten, Hit, Job, Json, Memory, Message, Receipt, Session, Stats, Trace,
} from "./types";
import type { Audit, Edit, Edited, Review } from "./types";

export interface Narrowing {
  kind?: string | string[];
  key?: string;
  key_prefix?: string;
  session_id?: string;
  agent?: string;
  since?: string;
  until?: string;
  filter?: Record<string, Json>;
}

export interface Revision {
  content?: string;
  kind?: string;
  key?: string | null;
  value?: Json;
  metadata?: Record<string, Json>;
  trust?: string;
  occurred_at?: string | null;
  expires_at?: string | null;
}

export class Profile {
  readonly path: string;

  constructor(
    readonly namespace: string,
    readonly name: string,
  ) {
    this.path = `v1/namespaces/${encodeURIComponent(namespace)}/profiles/${encodeURIComponent(name)}/`;
  }

  /** Any route of this profile. */
  ask<T>(method: string, route: string, asked: Asked = {}): Promise<T> {
    return call<T>(method, this.path + route, asked);
  }

  address(route: string, query: Asked["query"] = {}): string {
    return address(this.path + route, query);
  }

  stats = (signal?: AbortSignal) => this.ask<Stats>("GET", "stats", { signal });
  summary = (signal?: AbortSignal) => this.ask<{ summary: string }>("GET", "summary", { signal });
  sessions = (signal?: AbortSignal) => this.ask<{ sessions: Session[] }>("GET", "sessions", { signal });
  jobs = (signal?: AbortSignal) => this.ask<{ jobs: Job[] }>("GET", "jobs", { signal });
  documents = (signal?: AbortSignal) => this.ask<{ documents: Document[] }>("GET", "documents", { signal });

  list(asked: Narrowing & { limit?: number; cursor?: string | null; superseded?: boolean; expired?: boolean; as_of?: string }, signal?: AbortSignal) {
    return this.ask<{ memories: Memory[]; cursor: string | null }>("POST", "memories/list", { body: asked, signal });
  }

  search(asked: Narrowing & { query: string; limit?: number; as_of?: string }, signal?: AbortSignal) {
    return this.ask<{ hits: Hit[] }>("POST", "search", { body: asked, signal });
  }

  recall(asked: Narrowing & { query: string }, signal?: AbortSignal) {
    return this.ask<Answer>("POST", "recall", { body: asked, signal });
  }

  context(asked: Narrowing & { query: string; tokens?: number }, signal?: AbortSignal) {
    return this.ask<Context>("POST", "context", { body: asked, signal });
  }

  ingest(asked: { messages: { role: string; content: string }[]; session_id?: string; wait?: boolean }) {
    return this.ask<Receipt>("POST", "ingest", { body: asked });
  }

  remember(asked: { content: string; kind?: string; key?: string }) {
    return this.ask<Memory>("POST", "remember", { body: asked });
  }

  item(id: string, signal?: AbortSignal) {
    return this.ask<Memory | Message>("GET", `memories/${encodeURIComponent(id)}`, { signal });
  }

  /** How a memory stands now; `revise` takes it, to change nothing that somebody else has changed since. */
  async etag(id: string, signal?: AbortSignal): Promise<string> {
    const answer = await send("GET", `${this.path}memories/${encodeURIComponent(id)}`, { signal });
    return (answer.headers.get("etag") ?? "").replaceAll('"', "");
  }

  history(id: string, signal?: AbortSignal) {
    return this.ask<{ versions: Memory[] }>("GET", `memories/${encodeURIComponent(id)}/history`, { signal });
  }

  messages(session_id: string, limit = 1000, signal?: AbortSignal) {
    return this.ask<{ messages: Message[] }>("GET", "messages", { query: { session_id, limit }, signal });
  }

  /** A new version of a memory, unless it has changed since it was read as `etag`. */
  revise(id: string, changes: Revision, etag?: string) {
    const headers = etag === undefined ? undefined : { "if-match": `"${etag}"` };
    return this.ask<Memory>("PATCH", `memories/${encodeURIComponent(id)}`, { body: changes, headers });
  }

  forget(id: string, dry_run: boolean, signal?: AbortSignal) {
    return this.ask<Forgotten>("DELETE", `memories/${encodeURIComponent(id)}`, { query: { dry_run }, signal });
  }

  merge(ids: string[], content: string | null) {
    return this.ask<Edited>("POST", "memories/merge", { body: { ids, content } });
  }

  mark(id: string, right: boolean) {
    return this.ask<Edited>("POST", `memories/${encodeURIComponent(id)}/mark`, { body: { right } });
  }

  review(limit: number, signal?: AbortSignal) {
    return this.ask<{ review: Review[] }>("GET", "review", { query: { limit }, signal });
  }

  resolve(id: string, answer: string, content?: string) {
    return this.ask<Edited>("POST", `review/${encodeURIComponent(id)}`, { body: { answer, ...(content === undefined ? {} : { content }) } });
  }

  audit(signal?: AbortSignal) {
    return this.ask<Audit>("GET", "audit", { signal });
  }

  mend(fix: string) {
    return this.ask<Audit>("POST", "audit", { body: { fix } });
  }

  edits(limit: number, signal?: AbortSignal) {
    return this.ask<{ edits: Edit[] }>("GET", "edits", { query: { limit }, signal });
  }

  undo(id: string) {
    return this.ask<{ memories: Memory[]; removed: string[] }>("POST", "undo", { body: { id } });
  }

  forgetSession(id: string, dry_run: boolean) {
    return this.ask<Forgotten>("DELETE", `sessions/${encodeURIComponent(id)}`, { query: { dry_run } });
  }

  /** An entity and its neighbours; without one, those that most memories mention. */
  graph(asked: { entity?: string; as_of?: string | null; past?: boolean; limit?: number }, signal?: AbortSignal) {
    return this.ask<Drawn>("GET", "graph", { query: asked, signal });
  }

  way(start: string, end: string, as_of: string | null, signal?: AbortSignal) {
    return this.ask<Drawn>("GET", "graph/path", { query: { start, end, as_of }, signal });
  }

  entities(asked: { query?: string; as_of?: string | null; limit?: number }, signal?: AbortSignal) {
    return this.ask<{ entities: Entity[] }>("GET", "entities", { query: asked, signal });
  }

  about(entity: string, as_of: string | null, signal?: AbortSignal) {
    return this.ask<{ memories: Memory[] }>("GET", "entities/about", { query: { entity, as_of, limit: 50 }, signal });
  }

  document(id: string, signal?: AbortSignal) {
    return this.ask<Document>("GET", `documents/${encodeURIComponent(id)}`, { signal });
  }

  /** What was read of a document, in order; the next ones are those after the last one's position. */
  passages(id: string, after: number, limit: number, signal?: AbortSignal) {
    const query = { after, limit };
    return this.ask<{ passages: Message[] }>("GET", `documents/${encodeURIComponent(id)}/passages`, { query, signal });
  }

  retryDocument(id: string) {
    return this.ask<Document>("POST", `documents/${encodeURIComponent(id)}/retry`);
  }

  forgetDocument(id: string, dry_run: boolean, signal?: AbortSignal) {
    return this.ask<Forgotten>("DELETE", `documents/${encodeURIComponent(id)}`, { query: { dry_run }, signal });
  }

  traces(asked: { session?: string; turn?: string; limit?: number; cursor?: string | null }, signal?: AbortSignal) {
    return this.ask<{ traces: Trace[]; cursor: string | null }>("GET", "traces", { query: asked, signal });
  }

  trace(id: string, signal?: AbortSignal) {
    return this.ask<Trace>("GET", `traces/${encodeURIComponent(id)}`, { signal });
  }

  /** The memories and messages that a trace names, as they are now. */
  traced(id: string, signal?: AbortSignal) {
    return this.ask<{ items: (Memory | Message)[] }>("GET", `traces/${encodeURIComponent(id)}/items`, { signal });
  }
}

/** Whether an item is a memory; a message has a role. */
export function isMemory(item: Memory | Message): item is Memory {
  return !("role" in item);
}
