/** A context for a prompt: the block, its tokens, and its memories. */
import { useState } from "preact/hooks";
import type { Context } from "../../core/types";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { count } from "../../core/when";
import { Button, LinkButton } from "../../parts/Button";
import { Check, TextField } from "../../parts/Field";
import { Snippet } from "../../parts/Snippet";
import { Progress, Trouble } from "../../parts/States";
import { t } from "../../strings";
import { Hits } from "./Ask";
import { useQuestion } from "./question";

const STEPS = [100, 250, 500, 1000, 2000, 4000, 8000];

export function ContextBlock() {
  const of = profile.value!;
  const [step, setStep] = useState(3);
  const [summaries, setSummaries] = useState(false);
  const [block, setBlock] = useState<{ got: Context; budget: number } | null>(null);
  const asking = useQuestion(async (query, turn, stop) => {
    const tokens = STEPS[step]!;
    const got = await of.ask<Context>("POST", "context", { body: { query, tokens, summaries }, signal: stop, headers: { "holdfast-turn": turn } });
    setBlock({ got, budget: tokens });
  });
  return (
    <div class="playground">
      <form class="playground-ask" onSubmit={asking.ask}>
        <TextField label={t.playground.question} value={asking.question} onInput={asking.setQuestion} placeholder={t.playground.example} autoFocus />
        <label class="field playground-budget">
          <span class="label">{t.playground.budget(STEPS[step]!)}</span>
          <input type="range" min="0" max={STEPS.length - 1} value={step} onInput={(event) => setStep(Number(event.currentTarget.value))} aria-valuetext={t.playground.budget(STEPS[step]!)} />
        </label>
        <Button type="submit" look="primary" busy={asking.busy}>
          {t.playground.pack}
        </Button>
        <Check checked={summaries} onInput={setSummaries}>
          {t.playground.summaries}
        </Check>
      </form>
      {asking.failure && <Trouble failure={asking.failure} again={() => asking.ask()} />}
      {block === null && !asking.busy && asking.failure === null && <p class="quiet">{t.playground.contextAbout}</p>}
      {block !== null && (
        <>
          <div class="playground-spent">
            <div class="section-head">
              <h2 class="numbers">{t.playground.spent(block.got.tokens, block.budget)}</h2>
              {asking.trace !== null && (
                <LinkButton href={here("traces", [asking.trace])} icon="traces" look="plain">
                  {t.playground.why}
                </LinkButton>
              )}
            </div>
            <Progress percent={(100 * block.got.tokens) / block.budget} label={t.playground.spent(block.got.tokens, block.budget)} />
          </div>
          {block.got.text === "" ? <p class="quiet">{t.playground.nothingFits}</p> : <Snippet code={block.got.text} wrap />}
          {block.got.hits.length > 0 && <Hits hits={block.got.hits} question={asking.question} title={t.playground.inIt(count(block.got.hits.length))} />}
        </>
      )}
    </div>
  );
}
