/** One memory, or message: what it says, where it comes from, what it said before, and what can be done with it. */
import { useState } from "preact/hooks";
import { useEvents } from "../../core/live";
import { useShortcuts } from "../../core/keys";
import { useLoad } from "../../core/load";
import { isRetired, type Memory, type Message } from "../../core/types";
import { isMemory } from "../../core/profile";
import { go, here } from "../../core/route";
import { may, profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { Linked } from "../../parts/Prose";
import { CopyButton, Snippet } from "../../parts/Snippet";
import { Bones, Trouble } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { Edit } from "./Edit";
import { Forget } from "./Forget";
import { History } from "./History";
import { Links } from "./Links";
import { Sources } from "./Sources";
import { told } from "./undo";

export function Detail({ id, back }: { id: string; back: string }) {
  const of = profile.value!;
  const loaded = useLoad((stop) => of.item(id, stop), [of.path, id]);
  useEvents(["memory.superseded", "reset"], (event) => (event.type === "reset" || event.id === id) && loaded.again());
  useEvents(["memory.forgotten"], (event) => event.id === id && go(back, { replace: true }));
  const item = loaded.value;
  return (
    <article class="memory">
      <div class="memory-bar">
        <a class="button plain icon memory-back" href={back} aria-label={t.memories.back}>
          <Icon name="back" size={18} />
        </a>
        {item !== undefined && (isMemory(item) ? <MemoryActions memory={item} again={loaded.again} /> : <MessageActions message={item} />)}
      </div>
      {item === undefined ? (
        loaded.failure !== null ? <Trouble failure={loaded.failure} again={loaded.again} /> : <Bones lines={8} />
      ) : isMemory(item) ? (
        <WholeMemory memory={item} />
      ) : (
        <WholeMessage message={item} />
      )}
    </article>
  );
}

function MemoryActions({ memory, again }: { memory: Memory; again: () => void }) {
  const [doing, setDoing] = useState<"edit" | "forget" | null>(null);
  const of = profile.value!;
  const current = memory.superseded_by === null;
  const retired = isRetired(memory);
  const pinned = memory.metadata.pinned === true;
  const pin = async () => {
    const made = await of.revise(memory.id, { metadata: { pinned: pinned ? null : true } });
    void told(of, pinned ? t.memories.unpinned : t.memories.pinned, { made, then: again });
    again();
  };
  const mark = async (right: boolean) => {
    const { undo } = await of.mark(memory.id, right);
    void told(of, right ? t.memories.markedRight : t.memories.markedWrong, { undo, then: again });
    again();
  };
  useShortcuts([
    { keys: "e", does: t.memories.edit, group: t.memories.title, act: () => current && may("write") && setDoing("edit") },
    { keys: "#", does: t.memories.forget, group: t.memories.title, act: () => may("forget") && setDoing("forget") },
  ]);
  return (
    <>
      <Tag look="accent">{memory.kind}</Tag>
      {memory.key !== null && <code class="memory-key clip">{memory.key}</code>}
      <span class="memory-tools">
        {may("write") && (current || retired) && <Button icon="right" look="plain" label={t.memories.markRight} onClick={() => mark(true)} />}
        {may("write") && current && <Button icon="wrong" look="plain" label={t.memories.markWrong} onClick={() => mark(false)} />}
        {may("write") && current && <Button icon="pin" look="plain" label={pinned ? t.memories.unpin : t.memories.pin} pressed={pinned} onClick={pin} />}
        {may("write") && current && <Button icon="edit" look="plain" label={t.memories.edit} onClick={() => setDoing("edit")} />}
        {may("forget") && <Button icon="trash" look="plain" label={t.memories.forget} onClick={() => setDoing("forget")} />}
      </span>
      {doing === "edit" && <Edit memory={memory} onClose={() => setDoing(null)} onUndone={again} />}
      {doing === "forget" && <Forget ids={[memory.id]} onClose={() => setDoing(null)} />}
    </>
  );
}

function WholeMemory({ memory }: { memory: Memory }) {
  const w = t.memories.words;
  return (
    <>
      <p class="memory-text">
        <Linked text={memory.content} />
      </p>
      {isRetired(memory) && <p class="memory-note">{t.memories.retired}</p>}
      {memory.superseded_by !== null && !isRetired(memory) && (
        <p class="memory-note">
          {t.memories.supersededBy} <a href={here("memories", [memory.superseded_by])}>{t.memories.whatHolds}</a>
        </p>
      )}
      {memory.expires_at !== null && (
        <p class="memory-note">
          {t.memories.expires} <Ago at={memory.expires_at} />
        </p>
      )}
      <dl class="pairs">
        <Pair name={w.trust}>{t.trust[memory.trust] ?? memory.trust}</Pair>
        {memory.occurred_at !== null && (
          <Pair name={w.occurred}>
            <Ago at={memory.occurred_at} />
          </Pair>
        )}
        <Pair name={w.written}>
          <Ago at={memory.created_at} />
        </Pair>
        {memory.session_id !== null && (
          <Pair name={w.session}>
            <a href={here("memories", [], { session: memory.session_id })}>{memory.session_id}</a>
          </Pair>
        )}
        {memory.agent !== null && <Pair name={w.agent}>{memory.agent}</Pair>}
        <Pair name={w.by}>{memory.extractor === "user/1" ? t.memories.onPurpose : t.memories.drawn(memory.extractor, memory.confidence)}</Pair>
        {memory.marks !== 0 && <Pair name={w.marks}>{t.memories.marks(memory.marks)}</Pair>}
        <Pair name={w.version}>{memory.version}</Pair>
        <Pair name={w.id}>
          <code>{memory.id}</code> <CopyButton text={memory.id} />
        </Pair>
      </dl>
      <Extra memory={memory} />
      <Sources key={`sources ${memory.id}`} ids={memory.sources} />
      <Links key={`links ${memory.id}`} memory={memory} />
      <History key={`history ${memory.id} ${memory.version}`} memory={memory} />
    </>
  );
}

function Pair({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Extra({ memory }: { memory: Memory }) {
  const metadata = Object.entries(memory.metadata).filter(([name]) => name !== "pinned");
  return (
    <>
      {memory.value !== null && (
        <section>
          <h2>{t.memories.value}</h2>
          <Snippet code={typeof memory.value === "string" ? memory.value : JSON.stringify(memory.value, null, 2)} wrap />
        </section>
      )}
      {metadata.length > 0 && (
        <section>
          <h2>{t.memories.metadata}</h2>
          <dl class="pairs">
            {metadata.map(([name, value]) => (
              <Pair key={name} name={name}>
                {typeof value === "string" ? <Linked text={value} /> : <code>{JSON.stringify(value)}</code>}
              </Pair>
            ))}
          </dl>
        </section>
      )}
      {memory.queries.length > 0 && (
        <section>
          <h2>{t.memories.queries}</h2>
          <ul class="memory-queries">
            {memory.queries.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function MessageActions({ message }: { message: Message }) {
  const [forgetting, setForgetting] = useState(false);
  return (
    <>
      <Tag look="line">{message.role}</Tag>
      {message.pending && <Tag>{t.memories.pending}</Tag>}
      <span class="memory-tools">
        {may("forget") && <Button icon="trash" look="plain" label={t.memories.forget} onClick={() => setForgetting(true)} />}
      </span>
      {forgetting && <Forget ids={[message.id]} onClose={() => setForgetting(false)} />}
    </>
  );
}

function WholeMessage({ message }: { message: Message }) {
  const w = t.memories.words;
  return (
    <>
      <p class="memory-text message-text">
        <Linked text={message.content} />
      </p>
      <dl class="pairs">
        {message.speaker !== null && <Pair name={w.speaker}>{message.speaker}</Pair>}
        <Pair name={w.said}>
          <Ago at={message.timestamp ?? message.created_at} />
        </Pair>
        <Pair name={w.session}>
          <a href={here("memories", [], { session: message.session_id })}>{message.session_id}</a>
        </Pair>
        {message.agent !== null && <Pair name={w.agent}>{message.agent}</Pair>}
        <Pair name={w.id}>
          <code>{message.id}</code> <CopyButton text={message.id} />
        </Pair>
      </dl>
      <Sources key={`sources ${message.id}`} ids={[message.id]} title={t.memories.conversation} />
    </>
  );
}
