/** How a memory grew: all memories written so far as an area, and each day's as a bar under it. */
import { useState } from "preact/hooks";
import { day as shownDay } from "../core/when";
import { t } from "../strings";

const DAY_MS = 86_400_000;
const MOST_DAYS = 365;
const FEWEST_DAYS = 14;
const FEWEST_WRITTEN = 2;
/** One day is not enough for a chart. */
const [WIDTH, HEIGHT, BARS] = [1000, 120, 26];

interface Step {
  day: string;
  written: number;
  said: number;
  all: number;
}

function steps(said: Record<string, number>, written: Record<string, number>): Step[] {
  const known = [...Object.keys(said), ...Object.keys(written)].sort();
  if (known.length === 0) return [];
  const last = Math.floor(Date.now() / DAY_MS);
  const first = Math.min(Math.floor(Date.parse(known[0]!) / DAY_MS), last - FEWEST_DAYS + 1);
  const from = Math.max(first, last - MOST_DAYS + 1);
  const start = new Date(from * DAY_MS).toISOString().slice(0, 10);
  let all = Object.entries(written).reduce((sum, [day, n]) => (day < start ? sum + n : sum), 0);
  return Array.from({ length: last - from + 1 }, (_, n) => {
    const day = new Date((from + n) * DAY_MS).toISOString().slice(0, 10);
    all += written[day] ?? 0;
    return { day, written: written[day] ?? 0, said: said[day] ?? 0, all };
  });
}

export function Growth({ said, written }: { said: Record<string, number>; written: Record<string, number> }) {
  const [at, setAt] = useState<number | null>(null);
  const all = steps(said, written);
  const last = all.at(-1);
  if (last === undefined || last.all === 0 || Object.keys(written).length < FEWEST_WRITTEN) return null;
  const most = Math.max(1, ...all.map((step) => step.written));
  const wide = WIDTH / all.length;
  const x = (n: number) => (n + 0.5) * wide;
  const y = (step: Step) => HEIGHT - BARS - 6 - ((HEIGHT - BARS - 14) * step.all) / last.all;
  const line = all.map((step, n) => `${n === 0 ? "M" : "L"}${x(n).toFixed(1)} ${y(step).toFixed(1)}`).join("");
  const bottom = HEIGHT - BARS - 6;
  const over = at === null ? undefined : all[at];
  const find = (event: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setAt(Math.max(0, Math.min(all.length - 1, Math.floor(((event.clientX - left) / width) * all.length))));
  };
  return (
    <figure class="growth">
      <figcaption class="small quiet numbers">
        <strong>{t.home.growth}</strong>
        <span>{over ? t.home.growthOn(shownDay(over.day), over.written, over.all, over.said) : t.home.growthAll(last.all, all.length)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={t.home.growthAll(last.all, all.length)} onPointerMove={find} onPointerLeave={() => setAt(null)}>
        <path class="growth-area" d={`${line}L${x(all.length - 1).toFixed(1)} ${bottom}L${x(0).toFixed(1)} ${bottom}Z`} />
        <path class="growth-line" d={line} />
        {all.map((step, n) => step.written > 0 && (
          <rect key={step.day} class={n === at ? "on" : ""} x={n * wide + wide * 0.15} y={HEIGHT - Math.max(2, (BARS * step.written) / most)} width={wide * 0.7} height={BARS} />
        ))}
        {at !== null && <line x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} />}
      </svg>
      <div class="growth-ends small quiet">
        <span>{shownDay(all[0]!.day)}</span>
        <span>{shownDay(last.day)}</span>
      </div>
    </figure>
  );
}
