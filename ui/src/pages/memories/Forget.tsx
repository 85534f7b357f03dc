/** Forgets memories, after showing everything that would be removed with them. */
import { useState } from "preact/hooks";
import { asFailure, type Failure } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Memory, Message } from "../../core/types";
import { isMemory } from "../../core/profile";
import { go, here, place } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Progress, Shown, Trouble } from "../../parts/States";
import { Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";

const LISTED = 8;

interface Goes {
  memories: string[];
  messages: string[];
  shortened: string[];
  shown: (Memory | Message)[];
}

export function Forget({ ids, onClose }: { ids: string[]; onClose: () => void }) {
  const of = profile.value!;
  const [done, setDone] = useState<number | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const goes = useLoad(async (stop): Promise<Goes> => {
    const each = await Promise.all(ids.map((id) => of.forget(id, true, stop)));
    const memories = [...new Set(each.flatMap((one) => one.memories))];
    const messages = [...new Set(each.flatMap((one) => one.messages))];
    const shortened = [...new Set(each.flatMap((one) => one.shortened))].filter((id) => !messages.includes(id));
    const along = [...memories, ...messages].filter((id) => !ids.includes(id)).slice(0, LISTED);
    const shown = await Promise.all(along.map((id) => of.item(id, stop).catch(() => null)));
    return { memories, messages, shortened, shown: shown.filter((one) => one !== null) };
  }, [of.path, ids]);
  const forget = async () => {
    setDone(0);
    try {
      for (const [n, id] of ids.entries()) {
        await of.forget(id, false).catch((wrong: unknown) => {
          if (asFailure(wrong).status !== 404) throw wrong; // it went along with one before it
        });
        setDone(n + 1);
      }
    } catch (wrong) {
      setFailure(asFailure(wrong));
      setDone(null);
      return;
    }
    toast(t.memories.forgotten(ids.length));
    onClose();
    if (ids.includes(place.value.rest[0] ?? "")) go(here("memories", [], Object.fromEntries(place.value.query)), { replace: true });
  };
  return (
    <Dialog title={t.memories.forgetTitle(ids.length)} onClose={onClose}>
      {failure && <Trouble failure={failure} />}
      <Shown of={goes}>
        {(found) => {
          const others = found.memories.filter((id) => !ids.includes(id)).length;
          return (
            <>
              <p>{t.memories.goes(found.memories.length, found.messages.length)}</p>
              {found.shortened.length > 0 && <p>{t.memories.shortens(found.shortened.length)}</p>}
              {found.shown.length > 0 && (
                <>
                  <p class="small quiet">{t.memories.goesAlong(others, found.messages.filter((id) => !ids.includes(id)).length)}</p>
                  <ul class="goes">
                    {found.shown.map((item) => (
                      <li key={item.id}>
                        <Tag>{isMemory(item) ? item.kind : (t.roles[item.role] ?? item.role)}</Tag>
                        <span>{item.content}</span>
                      </li>
                    ))}
                  </ul>
                </>
              )}
              <p class="small quiet">{t.memories.forGood}</p>
            </>
          );
        }}
      </Shown>
      {done !== null && <Progress percent={(100 * done) / ids.length} label={t.memories.forgetting} />}
      <div class="actions end">
        <Button look="plain" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button look="danger primary" icon="trash" disabled={goes.value === undefined} busy={done !== null} onClick={() => void forget()}>
          {t.memories.forgetNow}
        </Button>
      </div>
    </Dialog>
  );
}
