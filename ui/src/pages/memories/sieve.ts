/** What the list is narrowed to: read off the address, written back to it, and turned into what the API asks. */
import type { Json } from "../../core/nouns";
import type { Narrowing } from "../../core/profile";
import { place } from "../../core/route";

export const FIELDS = ["q", "kind", "key", "session", "agent", "trust", "since", "until", "meta", "as_of", "superseded", "expired"] as const;
export type Field = (typeof FIELDS)[number];
export type Sieve = Partial<Record<Field, string>>;

export function sieveOfPlace(): Sieve {
  const { query } = place.value;
  return Object.fromEntries(FIELDS.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : []))) as Sieve;
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

/** The whole of the day that somebody chose. */
export function moment(sieve: Sieve): { as_of?: string } {
  return sieve.as_of ? { as_of: sieve.as_of.length === 10 ? `${sieve.as_of}T23:59:59Z` : sieve.as_of } : {};
}

export function narrowing(sieve: Sieve): Narrowing {
  const asked: Narrowing = {};
  if (sieve.kind) asked.kind = sieve.kind;
  if (sieve.key) asked.key_prefix = sieve.key;
  if (sieve.session) asked.session_id = sieve.session;
  if (sieve.agent) asked.agent = sieve.agent;
  if (sieve.since) asked.since = sieve.since;
  if (sieve.until) asked.until = sieve.until;
  const filter = { ...(sieve.trust ? { trust: sieve.trust } : {}), ...(sieve.meta ? metadataFilter(sieve.meta) : {}) };
  if (Object.keys(filter).length > 0) asked.filter = filter;
  return asked;
}
