/** Merges several memories into one. */
import { useState } from "preact/hooks";
import { asFailure, type Failure } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Memory } from "../../core/types";
import { isMemory } from "../../core/profile";
import { go, here } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { TextArea } from "../../parts/Field";
import { Shown, Trouble } from "../../parts/States";
import { Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { told } from "./undo";

export function Merge({ ids, onClose }: { ids: string[]; onClose: () => void }) {
  const of = profile.value!;
  const [content, setContent] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const items = useLoad(async (stop) => (await Promise.all(ids.map((id) => of.item(id, stop)))).filter((each): each is Memory => isMemory(each)), [ids]);
  const merge = async () => {
    try {
      const { memories, undo } = await of.merge(ids, content.trim() || null);
      onClose();
      void told(of, t.memories.merged(ids.length), { undo });
      if (memories[0]) go(here("memories", [memories[0].id]));
    } catch (wrong) {
      setFailure(asFailure(wrong));
    }
  };
  return (
    <Dialog title={t.memories.mergeTitle(ids.length)} onClose={onClose}>
      {failure && <Trouble failure={failure} />}
      <Shown of={items}>
        {(found) => (
          <ul class="goes">
            {found.map((each) => (
              <li key={each.id}>
                <Tag>{each.kind}</Tag>
                <span>{each.content}</span>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <TextArea label={t.memories.mergeInto} value={content} onInput={setContent} rows={3} autoFocus placeholder={t.memories.mergeHint} />
      <p class="small quiet">{t.memories.mergeAbout}</p>
      <div class="actions end">
        <Button look="plain" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button look="primary" icon="merge" onClick={merge}>
          {t.memories.merge}
        </Button>
      </div>
    </Dialog>
  );
}
