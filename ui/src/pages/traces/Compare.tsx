/** Two reads side by side: the hits of both, those of only one, and how ranks moved. */
import type { Trace } from "../../core/types";
import { here } from "../../core/route";
import { milliseconds } from "../../core/when";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { ItemLine } from "./Candidates";
import { type Candidate, candidates, type Items, outcomeOf, questionOf, reached } from "./outcome";

interface Row {
  id: string;
  before: Candidate | undefined;
  after: Candidate | undefined;
}

export function Compare({ before, after, items }: { before: Trace; after: Trace; items: Items }) {
  const [first, second] = [told(before), told(after)];
  const ids = [...new Set([...second.reached.keys(), ...first.reached.keys()])];
  const rows: Row[] = ids.map((id) => ({ id, before: first.all.get(id), after: second.all.get(id) }));
  const same = rows.filter((row) => first.reached.has(row.id) && second.reached.has(row.id)).length;
  return (
    <div class="traces-compare">
      <div class="traces-two">
        <Side trace={before} name={t.traces.then} />
        <Side trace={after} name={t.traces.now} />
      </div>
      <p class="quiet">{t.traces.compared(same, first.reached.size - same, second.reached.size - same)}</p>
      <div class="table-wrap">
        <table class="table traces-table">
          <thead>
            <tr>
              <th scope="col">{t.traces.memory}</th>
              <th scope="col">{t.traces.then}</th>
              <th scope="col">{t.traces.now}</th>
              <th scope="col">
                <span class="unseen">{t.traces.change}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <td>
                  <ItemLine id={row.id} items={items} />
                </td>
                <td>
                  <Fate of={row.before} at={first.reached.get(row.id)} />
                </td>
                <td>
                  <Fate of={row.after} at={second.reached.get(row.id)} />
                </td>
                <td>
                  <Moved from={first.reached.get(row.id)} to={second.reached.get(row.id)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Every candidate, and the rank of each that was in the result. */
function told(trace: Trace): { all: Map<string, Candidate>; reached: Map<string, number> } {
  const search = trace.details.searches?.[0];
  const found = search === undefined ? [] : candidates(trace, search);
  const order = trace.operation === "context" ? (trace.details.packed ?? []) : found.filter((each) => reached(each.fate, trace.operation)).map((each) => each.id);
  return { all: new Map(found.map((each) => [each.id, each])), reached: new Map(order.map((id, n) => [id, n + 1])) };
}

function Side({ trace, name }: { trace: Trace; name: string }) {
  return (
    <a class="card traces-side" href={here("traces", [trace.id])}>
      <span class="quiet small">{name}</span>
      <strong>{questionOf(trace)}</strong>
      <span class="quiet small numbers">
        {t.traces.operations[trace.operation]} · {outcomeOf(trace)} · {milliseconds(trace.milliseconds)} · <Ago at={trace.at} />
      </span>
    </a>
  );
}

function Fate({ of, at }: { of: Candidate | undefined; at: number | undefined }) {
  if (at !== undefined) return <span class="numbers">{t.traces.placed(at)}</span>;
  return <span class="quiet small">{of === undefined ? t.traces.notFound : of.why}</span>;
}

function Moved({ from, to }: { from: number | undefined; to: number | undefined }) {
  if (from === undefined) return <Tag look="accent">{t.traces.came}</Tag>;
  if (to === undefined) return <Tag look="danger">{t.traces.went}</Tag>;
  if (from === to) return <span class="quiet small">{t.traces.stayed}</span>;
  return <span class="small numbers">{to < from ? `↑ ${from - to}` : `↓ ${to - from}`}</span>;
}
