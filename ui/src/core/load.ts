/** Loads data for a view: the value, the error, and a way to load again. A new request aborts the older one. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { aborted, asFailure, type Failure } from "./api";

export interface Loaded<T> {
  value: T | undefined;
  failure: Failure | null;
  loading: boolean;
  /** Read it again; what is shown stays until the new value is there. */
  again: () => void;
  set: (value: T) => void;
}

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, needs: unknown[]): Loaded<T> {
  const [value, set] = useState<T | undefined>(undefined);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const seen = useRef("");
  const about = JSON.stringify(needs);
  useEffect(() => {
    const stop = new AbortController();
    if (seen.current !== about) {
      seen.current = about;
      set(undefined);
    }
    setLoading(true);
    read(stop.signal).then(
      (found) => {
        if (stop.signal.aborted) return;
        set(found);
        setFailure(null);
        setLoading(false);
      },
      (wrong: unknown) => {
        if (aborted(wrong) || stop.signal.aborted) return;
        setFailure(asFailure(wrong));
        setLoading(false);
      },
    );
    return () => stop.abort();
  }, [about, round]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return { value, failure, loading, again, set };
}

/** A value that follows another once it has been still for a while. */
export function useStill<T>(value: T, milliseconds: number): T {
  const [still, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(() => value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return still;
}
