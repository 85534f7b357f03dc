/** The server's health: its storage, requests and their times, from its own metrics. */
import { useEffect } from "preact/hooks";
import { send } from "../../core/api";
import { useLoad } from "../../core/load";
import { me } from "../../core/session";
import { count, milliseconds } from "../../core/when";
import { Shown } from "../../parts/States";
import { Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { meaning, type Vitals } from "./metrics";

const w = t.admin.health;
const EVERY_MS = 5000;
const SHOWN = 14;

export function Health() {
  const loaded = useLoad(async (stop): Promise<Vitals & { ready: boolean }> => {
    const [ready, metrics] = await Promise.all([
      send("GET", "readyz", { signal: stop }).then(() => true, () => false),
      send("GET", "metrics", { signal: stop, headers: { accept: "text/plain" } }).then((answer) => answer.text()),
    ]);
    return { ready, ...meaning(metrics) };
  }, ["health"]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || loaded.again(), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Shown of={loaded} lines={5}>
      {(found) => (
        <>
          <dl class="figures numbers">
            <Figure name={w.storage} value={found.ready ? w.answers : w.silent} />
            <Figure name={w.version} value={me.value?.version ?? ""} />
            <Figure name={w.requests} value={count(found.requests)} />
            <Figure name={w.failed} value={count(found.failed)} />
            <Figure name={w.streams} value={count(found.streams)} />
          </dl>
          <div class="table-wrap" tabIndex={0}>
            <table class="table numbers">
              <thead>
                <tr>
                  <th scope="col">{w.route}</th>
                  <th scope="col" class="right">{w.count}</th>
                  <th scope="col" class="right">{w.mean}</th>
                </tr>
              </thead>
              <tbody>
                {found.routes.slice(0, SHOWN).map((each) => (
                  <tr key={each.route}>
                    <td class="mono">
                      <Tag>{each.method}</Tag> {each.path}
                    </td>
                    <td class="right">{count(each.count)}</td>
                    <td class="right">{milliseconds(each.mean * 1000)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Shown>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
