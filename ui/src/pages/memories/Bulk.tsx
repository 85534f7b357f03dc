/** The same thing done to several memories. */
import { useState } from "preact/hooks";
import { may, profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { Forget } from "./Forget";
import { Merge } from "./Merge";

export function BulkBar({ ids, onDone }: { ids: string[]; onDone: () => void }) {
  const of = profile.value!;
  const [forgetting, setForgetting] = useState(false);
  const [merging, setMerging] = useState(false);
  const pin = async () => {
    for (const id of ids) await of.revise(id, { metadata: { pinned: true } });
    toast(t.memories.pinnedMany(ids.length));
    onDone();
  };
  return (
    <div class="bulk" role="toolbar" aria-label={t.memories.selected(ids.length)}>
      <span class="numbers">{t.memories.selected(ids.length)}</span>
      <span class="actions">
        {may("write") && (
          <Button small icon="pin" onClick={pin}>
            {t.memories.pin}
          </Button>
        )}
        {may("write") && ids.length > 1 && (
          <Button small icon="merge" onClick={() => setMerging(true)}>
            {t.memories.merge}
          </Button>
        )}
        {may("forget") && (
          <Button small icon="trash" look="danger" onClick={() => setForgetting(true)}>
            {t.memories.forget}
          </Button>
        )}
        <Button small look="plain" icon="close" label={t.memories.deselect} onClick={onDone} />
      </span>
      {merging && (
        <Merge
          ids={ids}
          onClose={() => {
            setMerging(false);
            onDone();
          }}
        />
      )}
      {forgetting && (
        <Forget
          ids={ids}
          onClose={() => {
            setForgetting(false);
            onDone();
          }}
        />
      )}
    </div>
  );
}
