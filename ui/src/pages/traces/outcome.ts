/** Pure: a trace → its kind, its subject, and the result of every candidate. */
import type { Json, Memory, Message, Searched, Trace } from "../../core/types";
import { t } from "../../strings";

export type Items = Map<string, Memory | Message>;
const READS = new Set(["search", "recall", "context"]);
const LOOKS = new Set(
  "about audit document documents edits entities get graph history list messages original passages path review sessions stats summary".split(" "),
);

export type Kind = "read" | "write" | "look";

/** A read asks a question; a look only opens something that is known by its name. */
export function kindOf(trace: Trace): Kind {
  return READS.has(trace.operation) ? "read" : LOOKS.has(trace.operation) ? "look" : "write";
}

export function questionOf(trace: Trace): string | null {
  return trace.details.searches?.[0]?.question.text ?? null;
}

/** When it began; a trace is written at its end. */
export function beganAt(trace: Trace): number {
  return Date.parse(trace.at) - trace.milliseconds;
}

/** In one line: what was asked, or what was written. */
export function gist(trace: Trace, items?: Items): string {
  const { details } = trace;
  const question = questionOf(trace);
  if (question !== null) return question;
  if (typeof details.written === "string") return textOf(items?.get(details.written)) ?? t.traces.wrote(1, details.superseded?.length ?? 0);
  if (details.new !== undefined) return t.traces.kept(details.new.length);
  if (details.digested !== undefined) return t.traces.drew(details.digested.length, details.drawn?.length ?? 0, details.superseded?.length ?? 0);
  if (typeof details.unchanged === "string") return t.traces.unchanged;
  if (typeof details.memories === "number") return t.traces.gone(details.memories, Number(details.messages ?? 0));
  return "";
}

/** What came of a read, in a few words. */
export function outcomeOf({ details, operation }: Trace): string {
  if (details.error !== undefined) return details.error;
  if (operation === "context") return t.traces.packedIn(details.packed?.length ?? 0, details.tokens ?? 0);
  if (operation === "recall") return details.cited?.length ? t.traces.cited(details.cited.length) : t.traces.noAnswer;
  if (operation === "search") return t.traces.returned(details.searches?.[0]?.returned.length ?? 0);
  return "";
}

export function textOf(item: Memory | Message | undefined): string | null {
  return item === undefined ? null : item.content;
}

export type Fate = "in" | "cited" | "returned" | "unfit" | "told" | "merged" | "limit" | "cut";

export interface Candidate {
  id: string;
  /** Its place among the ranked, from 1; null when it was proposed and not ranked among the best. */
  place: number | null;
  score: number | null;
  channels: Record<string, number>;
  reasons: Record<string, number>;
  features: Record<string, number>;
  fate: Fate;
  why: string;
  /** The item that was told instead. */
  instead: string | null;
}

/** Every candidate of one search, the ranked ones first, with what became of it and why. */
export function candidates(trace: Trace, search: Searched): Candidate[] {
  const channels = new Map<string, Record<string, number>>();
  for (const [name, ids] of Object.entries(search.channels)) {
    ids.forEach((id, n) => channels.set(id, { ...channels.get(id), [name]: n + 1 }));
  }
  const returned = new Map(search.returned.map((each, n) => [each.id, { ...each, place: n + 1 }]));
  const ranked = Object.keys(search.ranked);
  const packedOnly = (trace.details.packed ?? []).filter((id) => !returned.has(id));
  const ids = [...new Set([...returned.keys(), ...packedOnly, ...ranked, ...channels.keys()])];
  const packed = new Map((trace.details.packed ?? []).map((id, n) => [id, n + 1]));
  return ids.map((id) => {
    const back = returned.get(id);
    const at = ranked.indexOf(id);
    return {
      id,
      place: packed.get(id) ?? (trace.operation === "context" ? undefined : back?.place) ?? (at < 0 ? null : at + 1),
      score: back?.score ?? search.ranked[id] ?? null,
      channels: channels.get(id) ?? {},
      reasons: search.reasons?.[id] ?? {},
      features: back?.features ?? {},
      ...fateOf(trace, search, id, back?.place ?? null, at < 0 ? null : at + 1),
    };
  });
}

function fateOf({ details, operation }: Trace, search: Searched, id: string, returned: number | null, ranked: number | null) {
  const why = t.traces.why;
  if (operation === "context") {
    if (details.packed?.includes(id)) return { fate: "in" as Fate, why: why.packed, instead: null };
    const cost = details.unfit?.[id];
    if (cost !== undefined) return { fate: "unfit" as Fate, why: why.unfit(cost, details.budget ?? 0), instead: null };
    const by = details.told_by?.[id];
    if (by !== undefined) {
      const there = by.find((each) => details.packed?.includes(each));
      return { fate: (there ? "told" : "unfit") as Fate, why: there ? why.toldBy : why.toldByUnfit, instead: there ?? by[0] ?? null };
    }
  }
  if (details.cited?.includes(id)) return { fate: "cited" as Fate, why: why.cited, instead: null };
  if (returned !== null) return { fate: "returned" as Fate, why: why.returned(returned), instead: null };
  const other = search.merged?.[id];
  if (other !== undefined) return { fate: "merged" as Fate, why: why.merged, instead: other };
  if (ranked !== null) return { fate: "limit" as Fate, why: why.limit(ranked, search.limit ?? search.returned.length), instead: null };
  return { fate: "cut" as Fate, why: why.cut, instead: null };
}

/** Whether it was in the result. */
export function reached(fate: Fate, operation: string): boolean {
  return fate === "in" || fate === "cited" || (fate === "returned" && operation !== "context");
}

/** The request that asks the same again, as far as the trace knows. */
export function again(trace: Trace): { route: string; body: Record<string, Json>; lost: string[] } | null {
  const query = questionOf(trace);
  if (kindOf(trace) !== "read" || query === null) return null;
  const { narrowed, as_of: _, ...asked } = trace.details.asked ?? {};
  return { route: trace.operation, body: { query, ...asked }, lost: Array.isArray(narrowed) ? narrowed.map(String) : [] };
}
