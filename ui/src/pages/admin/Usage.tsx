/** Calls of language models for a profile, by month, and their cost. */
import { useState } from "preact/hooks";
import { useLoad } from "../../core/load";
import type { Profile } from "../../core/profile";
import { count } from "../../core/when";
import { Select } from "../../parts/Field";
import { Snippet } from "../../parts/Snippet";
import { Empty, Shown } from "../../parts/States";
import { t } from "../../strings";
import { ProfilePicker } from "./ProfilePicker";

const w = t.admin.usage;

interface Spent {
  month: string;
  model: string;
  task: string;
  calls: number;
  input: number;
  output: number;
  cached: number;
  cost: number | null;
}

export function Usage() {
  return <ProfilePicker>{(of) => <OfProfile of={of} />}</ProfilePicker>;
}

function OfProfile({ of }: { of: Profile }) {
  const loaded = useLoad((stop) => of.ask<{ usage: Spent[] }>("GET", "usage", { signal: stop }), [of.path]);
  const [month, setMonth] = useState("");
  return (
    <Shown of={loaded}>
      {({ usage }) => {
        if (usage.length === 0) {
          return (
            <Empty title={w.none}>
              <p>{w.noneAbout}</p>
              <Snippet code={w.snippet} />
            </Empty>
          );
        }
        const months = [...new Set(usage.map((each) => each.month))].sort().reverse();
        const shown = usage.filter((each) => month === "" || each.month === month);
        const priced = shown.filter((each) => each.cost !== null);
        const total = priced.reduce((sum, each) => sum + (each.cost ?? 0), 0);
        return (
          <>
            <div class="admin-where">
              <Select label={w.month} value={month} onInput={setMonth} options={[["", w.all], ...months]} />
            </div>
            <p class="admin-total">{priced.length === 0 ? w.noPrice : w.total(total)}</p>
            <div class="table-wrap" tabIndex={0}>
              <table class="table numbers">
                <thead>
                  <tr>
                    {w.columns.map((name, n) => (
                      <th key={name} scope="col" class={n > 2 ? "right" : ""}>
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {shown.map((each) => (
                    <tr key={`${each.month} ${each.model} ${each.task}`}>
                      <td>{each.month}</td>
                      <td>{each.model}</td>
                      <td>{each.task}</td>
                      <td class="right">{count(each.calls)}</td>
                      <td class="right">{count(each.input)}</td>
                      <td class="right">{count(each.output)}</td>
                      <td class="right">{each.cost === null ? "–" : each.cost.toFixed(4)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        );
      }}
    </Shown>
  );
}
