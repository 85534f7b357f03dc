/** What a memory is linked to: who and what it names, as the graph knows them, and memories near it in meaning. */
import { useLoad } from "../../core/load";
import type { Entity, Hit, Memory } from "../../core/types";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { t } from "../../strings";

const NAMES = 6;
const NEAR = 5;

interface Linked {
  entities: Entity[];
  near: Hit[];
}

export function Links({ memory }: { memory: Memory }) {
  const of = profile.value!;
  const linked = useLoad(async (stop): Promise<Linked> => {
    const [entities, found] = await Promise.all([
      Promise.all(names(memory.content).map((name) => of.entities({ query: name, limit: 1 }, stop))),
      of.search({ query: memory.content.slice(0, 500), limit: NEAR + 1 }, stop),
    ]);
    const text = memory.content.toLowerCase();
    const named = entities.flatMap((each) => each.entities).filter((each) => text.includes(each.name.toLowerCase()));
    const once = [...new Map(named.map((each) => [each.name, each])).values()];
    return { entities: once, near: found.hits.filter((hit) => hit.kind !== "message" && hit.id !== memory.id).slice(0, NEAR) };
  }, [of.path, memory.id]);
  const { entities = [], near = [] } = linked.value ?? {};
  if (entities.length === 0 && near.length === 0) return null;
  return (
    <section>
      <h2>{t.memories.links}</h2>
      {entities.length > 0 && (
        <p class="memory-entities">
          {entities.map((each) => (
            <a key={each.name} class="tag accent" href={here("graph", [each.id])}>
              {each.name}
            </a>
          ))}
        </p>
      )}
      <ul class="lines">
        {near.map((hit) => (
          <li key={hit.id}>
            <a class="clip" href={here("memories", [hit.id])}>
              {hit.summary || hit.content}
            </a>
            <span class="quiet small">{hit.kind}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Words that may be names: those that begin with a capital letter. */
function names(text: string): string[] {
  return [...new Set(text.match(/\p{Lu}[\p{L}\p{N}'’-]+/gu) ?? [])].slice(0, NAMES);
}
