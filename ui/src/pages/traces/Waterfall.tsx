/** Time as bars, drawn by hand: a small one for a line of the timeline, a large one with stages and channels. */
import { milliseconds } from "../../core/when";
import type { Trace } from "../../core/types";
import { t } from "../../strings";

const WIDE = 1000;
const STAGES = ["analyse", "embed", "propose", "rank", "read", "digest", "question", "synthesise", "wait"];
const LEAST = 2;

export function toneOf(stage: string): string {
  const at = STAGES.indexOf(stage);
  return `tone-${at < 0 ? STAGES.length : at}`;
}

function spansOf(trace: Trace): [string, number, number][] {
  if (trace.details.spans !== undefined) return trace.details.spans;
  let at = 0;
  return Object.entries(trace.details.stages ?? {}).map(([name, spent]) => [name, (at += spent) - spent, spent]);
}

/** One operation inside a turn: where it began among the others (waits left out) and what it spent its time on. */
export function Strip({ trace, from, all }: { trace: Trace; from: number; all: number }) {
  const x = (ms: number) => (WIDE * ms) / Math.max(all, 0.001);
  return (
    <svg class="traces-strip" viewBox={`0 0 ${WIDE} 12`} preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" x="0" y="5.500" width={WIDE} height="1" />
      <rect class="whole" x={x(from)} y="2" width={Math.max(LEAST, x(trace.milliseconds))} height="8" rx="1" />
      {spansOf(trace).map(([name, start, spent], n) => (
        <rect key={n} class={toneOf(name)} x={x(from + start)} y="2" width={Math.max(LEAST, x(spent))} height="8" />
      ))}
    </svg>
  );
}

/** One operation stage by stage, and below the stage that proposes, how much each channel found. */
export function Waterfall({ trace }: { trace: Trace }) {
  const spans = spansOf(trace);
  const whole = Math.max(trace.milliseconds, ...spans.map(([, start, spent]) => start + spent), 0.001);
  const searches = [...(trace.details.searches ?? [])];
  const rows = spans.flatMap(([name, start, spent], n) => {
    const bar = <Bar key={n} name={t.traces.stages[name] ?? name} tone={toneOf(name)} from={start / whole} part={spent / whole} told={milliseconds(spent)} />;
    const found = name === "propose" ? searches.shift() : undefined;
    if (found === undefined) return [bar];
    const counts = found.found ?? Object.fromEntries(Object.entries(found.channels).map(([channel, ids]) => [channel, ids.length]));
    const most = Math.max(1, ...Object.values(counts));
    const channels = Object.entries(counts).map(([channel, many]) => (
      <Bar key={`${n} ${channel}`} inner name={t.traces.channels[channel] ?? channel} tone="tone-channel" from={start / whole} part={(spent / whole) * (many / most)} told={t.traces.found(many)} />
    ));
    return [bar, ...channels];
  });
  return (
    <figure class="traces-fall" aria-label={t.traces.waterfall}>
      <Bar name={t.traces.operations[trace.operation] ?? trace.operation} tone="whole" from={0} part={trace.milliseconds / whole} told={milliseconds(trace.milliseconds)} />
      {rows}
    </figure>
  );
}

function Bar({ name, tone, from, part, told, inner }: { name: string; tone: string; from: number; part: number; told: string; inner?: boolean }) {
  return (
    <div class={`traces-bar ${inner ? "inner" : ""}`}>
      <span class="clip">{name}</span>
      <svg viewBox={`0 0 ${WIDE} 12`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" x="0" y="5.500" width={WIDE} height="1" />
        <rect class={tone} x={WIDE * from} y={inner ? 4 : 2} width={Math.max(LEAST, WIDE * part)} height={inner ? 4 : 8} />
      </svg>
      <span class="quiet numbers">{told}</span>
    </div>
  );
}
