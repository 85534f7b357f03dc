/** The memories that pass the filter: page by page as one scrolls, or the best hits of a search. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { aborted, asFailure, type Failure } from "../../core/api";
import { useEvents } from "../../core/live";
import { type Hit, isRetired, type Memory, versionRef } from "../../core/types";
import type { Profile } from "../../core/profile";
import { moment, narrowing, type MemoryFilter } from "./filter";

/** A row of the list: as much of a memory or hit as it shows. A hundred thousand whole ones would be a heavy page. */
export interface Row {
  id: string;
  kind: string;
  text: string;
  key: string | null;
  at: string;
  /** Whether `at` is when it happened or was said; else it is when it was written down. */
  dated: boolean;
  pinned: boolean;
  old: boolean;
  retired: boolean;
  role: string | null;
  /** What found it. */
  channels: string[] | null;
}

const LONGEST = 240;

function rowOf(item: Memory | Hit): Row {
  const happened = "timestamp" in item ? item.timestamp : item.occurred_at;
  return {
    id: "superseded_by" in item && item.superseded_by !== null ? versionRef(item) : item.id,
    kind: item.kind,
    text: (item.summary || item.content).slice(0, LONGEST),
    key: item.key,
    at: happened ?? item.created_at,
    dated: happened !== null,
    pinned: item.metadata.pinned === true,
    old: "superseded_by" in item && item.superseded_by !== null,
    retired: "superseded_by" in item && isRetired(item),
    role: "role" in item ? item.role : null,
    channels: "channels" in item ? Object.keys(item.channels) : null,
  };
}

export interface Listing {
  rows: Row[];
  more: boolean;
  loading: boolean;
  failure: Failure | null;
  /** How many memories came while somebody was reading further down. */
  news: number;
  next: () => void;
  again: () => void;
}

const PAGE = 200;
const HITS = 60;
const QUIET_MS = 500;

interface State {
  rows: Row[];
  cursor: string | null;
  loading: boolean;
  failure: Failure | null;
  pages: number;
}

const NOTHING: State = { rows: [], cursor: null, loading: true, failure: null, pages: 0 };

export function useListing(of: Profile, filter: MemoryFilter): Listing {
  const [state, set] = useState<State>(NOTHING);
  const [round, setRound] = useState(0);
  const [news, setNews] = useState(0);
  const busy = useRef<AbortController | null>(null);
  const about = JSON.stringify([of.path, filter]);
  const latest = useRef(state);
  latest.current = state;

  const read = async (cursor: string | null) => {
    busy.current?.abort();
    const stop = (busy.current = new AbortController());
    set((now) => ({ ...now, loading: true }));
    try {
      const page = await asked(of, filter, cursor, stop.signal);
      if (stop.signal.aborted) return;
      set((now) => ({
        rows: cursor === null ? page.rows : [...now.rows, ...page.rows],
        cursor: page.cursor,
        loading: false,
        failure: null,
        pages: cursor === null ? 1 : now.pages + 1,
      }));
    } catch (wrong) {
      if (!aborted(wrong) && !stop.signal.aborted) set((now) => ({ ...now, loading: false, failure: asFailure(wrong) }));
    }
  };
  useEffect(() => {
    setNews(0);
    void read(null);
    return () => busy.current?.abort();
  }, [about, round]);

  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEvents(["memory.", "reset"], (event) => {
    if (event.type === "memory.forgotten") {
      set((now) => ({ ...now, rows: now.rows.filter((row) => row.id !== event.id) }));
    } else if (latest.current.pages > 1) {
      if (event.type === "memory.added") setNews((n) => n + 1); // who reads further down is not moved
    } else {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        setRound((n) => n + 1);
      }, QUIET_MS);
    }
  });
  useEffect(() => () => clearTimeout(timer.current), []);

  const next = useCallback(() => {
    const { cursor, loading, failure } = latest.current;
    if (cursor !== null && !loading && failure === null) void read(cursor);
  }, [about]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return { rows: state.rows, more: state.cursor !== null, loading: state.loading, failure: state.failure, news, next, again };
}

async function asked(of: Profile, filter: MemoryFilter, cursor: string | null, stop: AbortSignal): Promise<{ rows: Row[]; cursor: string | null }> {
  if (filter.q) {
    const { hits } = await of.search({ query: filter.q, limit: HITS, ...moment(filter), ...narrowing(filter) }, stop);
    return { rows: hits.map(rowOf), cursor: null };
  }
  const shown = { superseded: filter.superseded === "yes", expired: filter.expired === "yes" };
  const page = await of.list({ limit: PAGE, cursor, ...shown, ...moment(filter), ...narrowing(filter) }, stop);
  return { rows: page.memories.map(rowOf), cursor: page.cursor };
}
