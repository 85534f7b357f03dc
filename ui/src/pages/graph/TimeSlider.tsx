/** A slider through the memory's past, above the days on which something was written. */
import { useEffect, useState } from "preact/hooks";
import { useLoad, useStill } from "../../core/load";
import { profile } from "../../core/session";
import { day, exactly } from "../../core/when";
import { Button } from "../../parts/Button";
import { t } from "../../strings";

const STEPS = 200;
const PAUSE_MS = 200;
const DAY = 86_400_000;

export function TimeSlider({ as_of, onChange }: { as_of: string | null; onChange: (as_of: string | null) => void }) {
  const of = profile.value!;
  const stats = useLoad((stop) => of.stats(stop), [of.path]);
  const days = Object.entries(stats.value?.written_on ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const [end] = useState(Date.now);
  const begin = days[0] === undefined ? end - DAY : Math.min(Date.parse(days[0][0]), end - 3_600_000);
  const stepOf = (moment: string | null) => (moment === null ? STEPS : Math.min(STEPS - 1, Math.max(0, Math.round((STEPS * (Date.parse(moment) - begin)) / (end - begin)))));
  const [step, setStep] = useState<number | null>(null);
  const at = step ?? stepOf(as_of);
  const still = useStill(step, PAUSE_MS);
  const momentOf = (n: number) => new Date(begin + ((end - begin) * n) / STEPS).toISOString();
  useEffect(() => {
    if (still !== null) onChange(still >= STEPS ? null : momentOf(still));
  }, [still]);
  useEffect(() => setStep(null), [as_of]);
  const moment = step === null && as_of !== null ? as_of : momentOf(at);
  const told = at >= STEPS ? t.graph.now : end - begin < 3 * DAY ? exactly(moment) : day(moment);
  const most = Math.max(1, ...days.map(([, n]) => n));
  const wide = Math.min(5, Math.max(0.6, (100 * DAY) / (end - begin + DAY)));
  return (
    <div class="graph-time">
      <span class="small">
        <span class="quiet">{t.graph.time}</span> <strong class="numbers">{told}</strong>
      </span>
      <div class="graph-slide">
        <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
          {days.map(([date, n]) => {
            const x = Math.max(0, (100 * (Date.parse(date) - begin)) / (end - begin));
            const tall = 2 + (18 * n) / most;
            return <rect key={date} x={Math.min(x, 100 - wide)} y={20 - tall} width={wide * 0.9} height={tall} />;
          })}
        </svg>
        <input type="range" min="0" max={STEPS} value={at} aria-label={t.graph.time} aria-valuetext={told} onInput={(event) => setStep(Number(event.currentTarget.value))} />
      </div>
      <Button small disabled={at >= STEPS} onClick={() => onChange(null)}>
        {t.graph.now}
      </Button>
    </div>
  );
}
