/** Writes a new version of a memory. It never overwrites a change that somebody else made meanwhile. */
import { useState } from "preact/hooks";
import { asFailure, Failure } from "../../core/api";
import type { Json, Memory } from "../../core/types";
import type { Revision } from "../../core/profile";
import { go, here, place } from "../../core/route";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Select, TextArea, TextField } from "../../parts/Field";
import { useLoad } from "../../core/load";
import { Trouble } from "../../parts/States";
import { t } from "../../strings";
import { told } from "./undo";

const TRUSTS = ["user", "agent", "document", "tool"].map((each): [string, string] => [each, t.trust[each]!]);

export function Edit({ memory, onClose, onUndone }: { memory: Memory; onClose: () => void; onUndone?: () => void }) {
  const of = profile.value!;
  const seen = useLoad((stop) => of.etag(memory.id, stop), [memory.id]);
  const [content, setContent] = useState(memory.content);
  const [kind, setKind] = useState(memory.kind);
  const [key, setKey] = useState(memory.key ?? "");
  const [trust, setTrust] = useState(memory.trust);
  const [expires, setExpires] = useState(memory.expires_at ?? "");
  const [metadata, setMetadata] = useState(JSON.stringify(memory.metadata, null, 2));
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const badJson = objectOf(metadata) === null ? t.memories.badMetadata : null;
  const save = async (event: Event) => {
    event.preventDefault();
    const given = objectOf(metadata);
    if (given === null) return;
    setBusy(true);
    setFailure(null);
    try {
      const made = await of.revise(memory.id, changesOf(memory, { content, kind, key, trust, expires, metadata: given }), seen.value);
      onClose();
      void told(of, t.memories.saved, { made, then: onUndone });
      go(here("memories", [made.id], Object.fromEntries(place.value.query)), { replace: true });
    } catch (wrong) {
      setFailure(asFailure(wrong));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.memories.edit} onClose={onClose} wide>
      <form class="form" onSubmit={save}>
        {failure && <Trouble failure={failure.status === 412 ? new Failure(412, failure.code, t.memories.stale, t.memories.staleFix) : failure} />}
        <TextArea label={t.memories.content} value={content} onInput={setContent} rows={4} autoFocus />
        <div class="memory-edit-pair">
          <TextField label={t.memories.fieldNames.kind} value={kind} onInput={setKind} required />
          <TextField label={t.memories.fieldNames.key} value={key} onInput={setKey} mono hint={t.memories.keyHint} />
          <Select label={t.memories.fieldNames.trust} value={trust} onInput={setTrust} options={TRUSTS} />
          <TextField label={t.memories.fieldNames.expires_at} value={expires} onInput={setExpires} mono placeholder="2027-01-31T12:00:00Z" />
        </div>
        <TextArea label={t.memories.metadata} value={metadata} onInput={setMetadata} rows={3} mono wrong={badJson} />
        <div class="actions end">
          <Button look="plain" onClick={onClose}>
            {t.cancel}
          </Button>
          <Button type="submit" look="primary" busy={busy} disabled={content.trim() === "" || badJson !== null || (seen.value === undefined && seen.failure === null)}>
            {t.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function objectOf(text: string): Record<string, Json> | null {
  try {
    const found = JSON.parse(text.trim() || "{}") as Json;
    return typeof found === "object" && found !== null && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

interface Edited {
  content: string;
  kind: string;
  key: string;
  trust: string;
  expires: string;
  metadata: Record<string, Json>;
}

/** Only what changed; a metadata field that was taken out goes as null. */
function changesOf(memory: Memory, edited: Edited): Revision {
  const changes: Revision = {};
  if (edited.content !== memory.content) changes.content = edited.content;
  if (edited.kind !== memory.kind) changes.kind = edited.kind;
  if (edited.key !== (memory.key ?? "")) changes.key = edited.key || null;
  if (edited.trust !== memory.trust) changes.trust = edited.trust;
  if (edited.expires !== (memory.expires_at ?? "")) changes.expires_at = edited.expires || null;
  if (JSON.stringify(edited.metadata) !== JSON.stringify(memory.metadata)) {
    const removed = Object.keys(memory.metadata).filter((name) => !(name in edited.metadata));
    changes.metadata = { ...edited.metadata, ...Object.fromEntries(removed.map((name) => [name, null])) };
  }
  return changes;
}
