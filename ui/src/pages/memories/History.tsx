/** Every version of a memory, with the changes from one to the next. */
import { useLoad } from "../../core/load";
import { type Memory, versionRef } from "../../core/types";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { difference } from "./diff";

export function History({ memory }: { memory: Memory }) {
  const of = profile.value!;
  const versions = useLoad(async (stop) => (await of.history(memory.id, stop)).versions, [of.path, memory.id, memory.version]);
  if (versions.value !== undefined && versions.value.length < 2) return null;
  return (
    <section>
      <h2>{t.memories.history}</h2>
      <Shown of={versions}>
        {(found) => (
          <ol class="versions">
            {found.map((version, n) => (
              <li key={versionRef(version)} aria-current={versionRef(version) === versionRef(memory) ? "true" : undefined}>
                <div class="small quiet">
                  <a href={here("memories", [versionRef(version)])}>{t.memories.versionN(version.version)}</a> · <Ago at={version.created_at} />
                  {version.superseded_by === null && <Tag look="accent">{t.memories.holds}</Tag>}
                </div>
                <Changed before={found[n + 1]} after={version} />
              </li>
            ))}
          </ol>
        )}
      </Shown>
    </section>
  );
}

function Changed({ before, after }: { before: Memory | undefined; after: Memory }) {
  if (before === undefined) return <p>{after.content}</p>;
  const fields = (["kind", "key", "trust", "occurred_at", "expires_at"] as const).filter((name) => before[name] !== after[name]);
  const values = (["value", "metadata"] as const).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return (
    <>
      <p>
        {before.content === after.content
          ? after.content
          : difference(before.content, after.content).map(({ text, change }, n) =>
              change === "same" ? text : change === "gone" ? <del key={n}>{text}</del> : <ins key={n}>{text}</ins>,
            )}
      </p>
      {[...fields, ...values].map((name) => (
        <p key={name} class="small">
          {t.memories.fieldNames[name]}: <del>{shown(before[name])}</del> <ins>{shown(after[name])}</ins>
        </p>
      ))}
    </>
  );
}

function shown(value: unknown): string {
  return value === null ? t.memories.none : typeof value === "string" ? value : JSON.stringify(value);
}
