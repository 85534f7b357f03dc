/** No memory to show: there is none, none matches, or none is open. */
import { root } from "../../core/api";
import { go, withQuery } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Keys } from "../../parts/Help";
import { Snippet } from "../../parts/Snippet";
import { Empty } from "../../parts/States";
import { t } from "../../strings";
import { FIELDS, type MemoryFilter } from "./filter";

export function NothingFound({ filter }: { filter: MemoryFilter }) {
  const of = profile.value!;
  const narrowed = FIELDS.some((name) => filter[name]);
  return (
    <div class="memories-pad">
      {narrowed ? (
        <Empty title={filter.q ? t.memories.noHits : t.memories.nonePass}>
          <p>{filter.q ? t.memories.noHitsAbout : t.memories.nonePassAbout}</p>
          <div>
            <Button onClick={() => go(withQuery(Object.fromEntries(FIELDS.filter((name) => name !== "q").map((name) => [name, ""]))), { replace: true })}>{t.memories.clear}</Button>
          </div>
        </Empty>
      ) : (
        <Empty title={t.memories.empty}>
          <p>{t.memories.emptyAbout}</p>
          <Snippet code={t.memories.snippet(root, of.namespace, of.name)} />
        </Empty>
      )}
    </div>
  );
}

export function NothingOpen() {
  return (
    <div class="memories-nothing">
      <p>{t.memories.nothingOpen}</p>
      <ul>
        {t.memories.hints.map(([keys, does]) => (
          <li key={keys}>
            <span>
              <Keys keys={keys!} />
            </span>
            {does}
          </li>
        ))}
      </ul>
    </div>
  );
}
