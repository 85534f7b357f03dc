/** A question of the playground: what Ask and Context share. */
import { aborted, asFailure, type Failure } from "../../core/api";
import { useEffect, useRef, useState } from "preact/hooks";
import { go, place, withQuery } from "../../core/route";
import { profile } from "../../core/session";

export interface Asking {
  question: string;
  setQuestion: (text: string) => void;
  busy: boolean;
  failure: Failure | null;
  /** The trace that the last question left. */
  trace: string | null;
  ask: (event?: Event) => void;
}

/** A question that stands in the address, asked on submit and again on reload. `run` names itself with `turn`. */
export function useQuestion(run: (question: string, turn: string, stop: AbortSignal) => Promise<void>): Asking {
  const of = profile.value!;
  const [question, setQuestion] = useState(place.value.query.get("q") ?? "");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [trace, setTrace] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  const ask = (event?: Event) => {
    event?.preventDefault();
    if (question.trim() === "") return;
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    const turn = `playground-${Date.now()}`;
    go(withQuery({ q: question }), { replace: true });
    setBusy(true);
    setFailure(null);
    setTrace(null);
    run(question, turn, mine.signal)
      .then(async () => setTrace((await of.traces({ turn, limit: 1 }, mine.signal)).traces[0]?.id ?? null))
      .catch((wrong: unknown) => aborted(wrong) || setFailure(asFailure(wrong)))
      .finally(() => stop.current === mine && setBusy(false));
  };
  useEffect(() => {
    ask();
    return () => stop.current?.abort();
  }, []);
  return { question, setQuestion, busy, failure, trace, ask };
}
