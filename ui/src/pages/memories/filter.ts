/** The filter of the list: read from the address, written back to it, and turned into parameters of the API. */
import type { Json } from "../../core/types";
import type { Narrowing } from "../../core/profile";
import { place } from "../../core/route";

export const FIELDS = ["q", "kind", "key", "session", "agent", "trust", "since", "until", "meta", "as_of", "superseded", "expired"] as const;
export type Field = (typeof FIELDS)[number];
export type MemoryFilter = Partial<Record<Field, string>>;

export function filterOfAddress(): MemoryFilter {
  const { query } = place.value;
  return Object.fromEntries(FIELDS.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : []))) as MemoryFilter;
}

/** `room=3` asks for a number, `floor.wing=B` for a text, `pinned` whether it is there. */
export function metadataFilter(text: string): Record<string, Json> {
  return Object.fromEntries(
    text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean)
      .map((part) => {
        const [name = "", ...value] = part.split("=");
        return [`metadata.${name.trim()}`, value.length === 0 ? { exists: true } : literal(value.join("=").trim())];
      }),
  );
}

function literal(text: string): Json {
  return /^(-?\d+(\.\d+)?|true|false)$/.test(text) ? (JSON.parse(text) as Json) : text;
}

/** The end of the chosen day. */
export function moment(filter: MemoryFilter): { as_of?: string } {
  return filter.as_of ? { as_of: filter.as_of.length === 10 ? `${filter.as_of}T23:59:59Z` : filter.as_of } : {};
}

export function narrowing(filter: MemoryFilter): Narrowing {
  const asked: Narrowing = {};
  if (filter.kind) asked.kind = filter.kind;
  if (filter.key) asked.key_prefix = filter.key;
  if (filter.session) asked.session_id = filter.session;
  if (filter.agent) asked.agent = filter.agent;
  if (filter.since) asked.since = filter.since;
  if (filter.until) asked.until = filter.until;
  const conditions = { ...(filter.trust ? { trust: filter.trust } : {}), ...(filter.meta ? metadataFilter(filter.meta) : {}) };
  if (Object.keys(conditions).length > 0) asked.filter = conditions;
  return asked;
}
