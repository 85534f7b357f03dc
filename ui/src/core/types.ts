/** The API's responses, as far as the UI reads them. The names are those of docs/domain.md. */

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export interface Memory {
  id: string;
  kind: string;
  content: string;
  summary: string;
  created_at: string;
  updated_at: string;
  key: string | null;
  value: Json;
  metadata: Record<string, Json>;
  keywords: string[];
  queries: string[];
  session_id: string | null;
  agent: string | null;
  trust: string;
  sources: string[];
  occurred_at: string | null;
  occurred_until: string | null;
  expires_at: string | null;
  version: number;
  superseded_by: string | null;
  extractor: string;
  confidence: number;
  /** How often it was marked right, less how often wrong. */
  marks: number;
}

/** The reference to one version of a memory; all versions have its id. */
export function versionRef(memory: { id: string; version: number }): string {
  return `${memory.id}@${memory.version}`;
}

/** Whether it was marked wrong: it is superseded by itself. */
export function isRetired(memory: Memory): boolean {
  return memory.superseded_by === versionRef(memory);
}

export interface Message {
  id: string;
  session_id: string;
  role: string;
  content: string;
  created_at: string;
  speaker: string | null;
  timestamp: string | null;
  agent: string | null;
  metadata: Record<string, Json>;
  position: number;
  pending: boolean;
  failures: number;
  aside: boolean;
  shortened: boolean;
}

export interface Hit {
  id: string;
  kind: string;
  content: string;
  summary: string;
  score: number;
  channels: Record<string, number>;
  session_id: string | null;
  created_at: string;
  message_id: string | null;
  sources: string[];
  key: string | null;
  role: string | null;
  speaker: string | null;
  timestamp: string | null;
  trust: string;
  pending: boolean;
  metadata: Record<string, Json>;
  value: Json;
  version: number;
  reasons: Record<string, number>;
}

export interface Answer {
  answer: string;
  citations: { hit: string; quote: string }[];
  hits: Hit[];
  confidence: number;
}

export interface Context {
  text: string;
  tokens: number;
  hits: Hit[];
}

export interface Stats {
  messages: number;
  memories: number;
  kinds: Record<string, number>;
  superseded: number;
  sessions: number;
  pending: number;
  failing: number;
  set_aside: number;
  unembedded: number;
  bytes: number;
  /** Day → how many messages were stored, how many memories written on it. */
  said_on: Record<string, number>;
  written_on: Record<string, number>;
}

export interface Edited {
  memories: Memory[];
  undo: string | null;
}

export interface Edit {
  id: string;
  at: string;
  verb: string;
  made: [id: string, sources: number][];
  gone: boolean;
}

export interface Review {
  memory: Memory;
  reason: string;
  because: string;
  answers: string[];
  other: Memory | null;
}

export interface Finding {
  name: string;
  count: number;
  share: number;
  examples: string[][];
  texts: string[];
}

export interface Audit {
  memories: number;
  findings: Finding[];
  fixed: Edited | null;
}

export interface Session {
  id: string;
  messages: number;
  first: string;
  last: string;
}

export interface Forgotten {
  memories: string[];
  messages: string[];
  shortened: string[];
}

export interface Job {
  id: string;
  kind: string;
  created_at: string;
  state: string;
  total: number;
  done: number;
  failed: number;
  memories: string[];
}

export interface Trace {
  id: string;
  at: string;
  operation: string;
  caller: { credential: string | null; agent: string | null; session_id: string | null; turn_id: string | null };
  milliseconds: number;
  details: TraceDetails;
}

/** What a trace keeps, by the operation: ids and numbers, and the question that was asked. */
export interface TraceDetails {
  stages?: Record<string, number>;
  /** Stage, when it began, how long it took, in milliseconds. */
  spans?: [string, number, number][];
  asked?: Record<string, Json>;
  searches?: Searched[];
  error?: string;
  confidence?: number;
  cited?: string[];
  tokens?: number;
  budget?: number;
  packed?: string[];
  unfit?: Record<string, number>;
  told_by?: Record<string, string[]>;
  new?: string[];
  job?: string;
  written?: string;
  superseded?: string[];
  digested?: string[];
  drawn?: string[];
  [more: string]: unknown;
}

export interface Searched {
  question: { text: string; words: string[]; keys: string[]; window: [string, string] | null };
  limit?: number;
  channels: Record<string, string[]>;
  found?: Record<string, number>;
  ranked: Record<string, number>;
  merged?: Record<string, string>;
  reasons?: Record<string, Record<string, number>>;
  returned: { id: string; kind: string; score: number; features: Record<string, number> }[];
}

/** Somebody or something that memories are about. */
export interface Entity {
  id: string;
  name: string;
  type: string;
  memories: number;
  names: string[];
}

/** What a memory says of two entities. */
export interface Link {
  from: string;
  to: string;
  relation: string;
  memory: string;
  since: string | null;
  until: string | null;
}

export interface Drawn {
  entities: Entity[];
  links: Link[];
  truncated: boolean;
}

export interface Document {
  id: string;
  session_id: string;
  name: string;
  created_at: string;
  updated_at: string;
  state: "waiting" | "done" | "failed";
  stage: string;
  percent: number;
  chunks: number;
  pending: number;
  error: string | null;
  fix: string | null;
  tries: number;
  retry_at: string | null;
  url: string | null;
  version: number;
  bytes: number;
  format: string;
  title: string | null;
  author: string | null;
  date: string | null;
  language: string | null;
  pages: number | null;
  notes: string[];
  metadata: Record<string, Json>;
  original: boolean;
}

export interface Receipt {
  session_id: string;
  messages: { id: string; new: boolean }[];
  pending: number;
  memories: Memory[];
  job: string | null;
}

export interface Credential {
  id: string;
  kind: "admin" | "key" | "url";
  name: string;
  rights: string[];
  created_at: string;
  namespace: string | null;
  profile: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  used_at: string | null;
}

export interface Namespace {
  id: string;
  name: string;
  created_at: string;
}

export interface ProfileInfo {
  namespace: string;
  name: string;
  created_at: string;
}

export interface Act {
  at: string;
  credential: string | null;
  what: string;
  thing: string;
}

export interface KindInfo {
  kind: string;
  current: number;
  versions: { version: number; schema: Json }[];
  migrating: number | null;
}

/** One step of a profile's change sequence, as it comes over the event stream. */
export interface Happened {
  n: number;
  at: string;
  type: string;
  [more: string]: Json;
}
