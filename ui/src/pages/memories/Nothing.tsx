/** No memory to show: because there is none, because nothing passes, or because none is opened. */
import { root } from "../../core/api";
import { go, withQuery } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Keys } from "../../parts/Help";
import { Snippet } from "../../parts/Snippet";
import { Empty } from "../../parts/States";
import { t } from "../../strings";
import { FIELDS, type Sieve } from "./sieve";

export function NothingFound({ sieve }: { sieve: Sieve }) {
  const of = profile.value!;
  const narrowed = FIELDS.some((name) => sieve[name]);
  return (
    <div class="memories-pad">
      {narrowed ? (
        <Empty title={sieve.q ? t.memories.noHits : t.memories.nonePass}>
          <p>{sieve.q ? t.memories.noHitsAbout : t.memories.nonePassAbout}</p>
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
