/** Writes one memory. */
import { useState } from "preact/hooks";
import { asFailure, type Failure } from "../../core/api";
import { go, here } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { TextArea, TextField } from "../../parts/Field";
import { Trouble } from "../../parts/States";
import { t } from "../../strings";
import { told } from "./undo";

export function Remember({ onClose }: { onClose: () => void }) {
  const of = profile.value!;
  const [content, setContent] = useState("");
  const [kind, setKind] = useState("fact");
  const [key, setKey] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      const made = await of.remember({ content, kind, ...(key ? { key } : {}) });
      onClose();
      void told(of, t.memories.remembered, { made });
      go(here("memories", [made.id]));
    } catch (wrong) {
      setFailure(asFailure(wrong));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.memories.remember} onClose={onClose}>
      <form class="form" onSubmit={save}>
        {failure && <Trouble failure={failure} />}
        <TextArea label={t.memories.content} value={content} onInput={setContent} rows={3} autoFocus placeholder={t.memories.contentExample} />
        <div class="memory-edit-pair">
          <TextField label={t.memories.fieldNames.kind} value={kind} onInput={setKind} required />
          <TextField label={t.memories.fieldNames.key} value={key} onInput={setKey} mono hint={t.memories.keyHint} />
        </div>
        <div class="actions end">
          <Button look="plain" onClick={onClose}>
            {t.cancel}
          </Button>
          <Button type="submit" look="primary" busy={busy} disabled={content.trim() === ""}>
            {t.memories.rememberNow}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
