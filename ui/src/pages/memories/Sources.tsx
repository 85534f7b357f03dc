/** The sources of a memory: its messages, each with the messages around it. */
import { useLoad } from "../../core/load";
import type { Message } from "../../core/types";
import { isMemory } from "../../core/profile";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { Linked } from "../../parts/Prose";
import { Shown } from "../../parts/States";
import { Ago } from "../../parts/Tag";
import { t } from "../../strings";

const SHOWN = 6;
const AROUND = 2;

interface Excerpt {
  session: string;
  messages: (Message & { cited: boolean })[];
}

export function Sources({ ids, title = t.memories.sources }: { ids: string[]; title?: string }) {
  const of = profile.value!;
  const excerpts = useLoad(async (stop): Promise<Excerpt[]> => {
    const items = await Promise.all(ids.slice(0, SHOWN).map((id) => of.item(id, stop).catch(() => null)));
    const cited = items.filter((each): each is Message => each !== null && !isMemory(each));
    const sessions = [...new Set(cited.map((each) => each.session_id))];
    return Promise.all(
      sessions.map(async (session) => {
        const { messages } = await of.messages(session, 1000, stop);
        return { session, messages: around(messages, new Set(cited.map((each) => each.id))) };
      }),
    );
  }, [of.path, ids]);
  if (ids.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <Shown of={excerpts}>
        {(found) => (
          <>
            {found.map((excerpt) => (
              <figure key={excerpt.session} class="excerpt">
                <figcaption class="small quiet">
                  <a href={here("memories", [], { session: excerpt.session })}>{excerpt.session}</a>
                </figcaption>
                {excerpt.messages.map((message) => (
                  <blockquote key={message.id} class={message.cited ? "cited" : ""}>
                    <span class="small quiet">
                      {message.speaker ?? t.roles[message.role] ?? message.role} · <Ago at={message.timestamp ?? message.created_at} />
                    </span>
                    <p>
                      <Linked text={message.content} />
                    </p>
                  </blockquote>
                ))}
              </figure>
            ))}
            {ids.length > SHOWN && <p class="small quiet">{t.memories.moreSources(ids.length - SHOWN)}</p>}
          </>
        )}
      </Shown>
    </section>
  );
}

/** The cited messages with those just before and after them. */
function around(messages: Message[], cited: ReadonlySet<string>): Excerpt["messages"] {
  const near = (at: number) => messages.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((each) => cited.has(each.id));
  return messages.map((message) => ({ ...message, cited: cited.has(message.id) })).filter((_, at) => near(at));
}
