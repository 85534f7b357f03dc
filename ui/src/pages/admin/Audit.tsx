/** Administrative acts, newest first, with the credential that did each. */
import { call } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Act, Credential } from "../../core/types";
import { Shown } from "../../parts/States";
import { Ago } from "../../parts/Tag";
import { t } from "../../strings";

const w = t.admin.audit;
const SHOWN = 500;

export function Audit() {
  const loaded = useLoad(async (stop) => {
    const [acts, known] = await Promise.all([
      call<{ acts: Act[] }>("GET", "v1/audit", { query: { limit: SHOWN }, signal: stop }),
      call<{ credentials: Credential[] }>("GET", "v1/credentials", { signal: stop }),
    ]);
    return { acts: acts.acts, names: new Map(known.credentials.map((each) => [each.id, each.name])) };
  }, ["audit"]);
  return (
    <Shown of={loaded} lines={6}>
      {({ acts, names }) => (
        <div class="table-wrap" tabIndex={0}>
          <table class="table">
            <thead>
              <tr>
                {w.columns.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {acts.map((act, n) => (
                <tr key={n}>
                  <td>
                    <Ago at={act.at} />
                  </td>
                  <td>{w.acts[act.what] ?? act.what}</td>
                  <td class="mono">{names.get(act.thing) ?? act.thing}</td>
                  <td>{act.credential === null ? w.itself : (names.get(act.credential) ?? act.credential)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Shown>
  );
}
