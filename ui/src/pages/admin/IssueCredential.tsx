/** A new credential: a key with rights in a place, or a secret URL for one profile. */
import { useState } from "preact/hooks";
import { asFailure, call, type Failure } from "../../core/api";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Check, Select, TextField } from "../../parts/Field";
import { useSpaces } from "../../parts/Palette";
import { Trouble } from "../../parts/States";
import { t } from "../../strings";
import type { Issued } from "./NewToken";

const w = t.admin.credentials;
const RIGHTS = ["read", "write", "forget", "admin"] as const;
const SPANS: [string, string][] = [["", w.spans.never], ["7", w.spans.week], ["30", w.spans.month], ["365", w.spans.year]];
const DAY_MS = 86_400_000;

export function IssueCredential({ onClose, onIssued }: { onClose: () => void; onIssued: (made: Issued) => void }) {
  const spaces = useSpaces().value ?? [];
  const [kind, setKind] = useState<"url" | "key">("url");
  const [name, setName] = useState("");
  const [namespace, setNamespace] = useState("");
  const [profile, setProfile] = useState("");
  const [rights, setRights] = useState<string[]>(["read", "write", "forget"]);
  const [days, setDays] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const make = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const expires_at = days === "" ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
      const place = { namespace: namespace || null, profile: profile || null };
      onIssued(await call<Issued>("POST", "v1/credentials", { body: { kind, name, rights, expires_at, ...place } }));
    } catch (wrong) {
      setFailure(asFailure(wrong));
      setBusy(false);
    }
  };
  const turn = (right: string, on: boolean) => setRights(on ? [...rights, right] : rights.filter((each) => each !== right));
  const allowed = RIGHTS.filter((right) => kind === "key" || right !== "admin");
  return (
    <Dialog title={w.issue} onClose={onClose}>
      <form class="form" onSubmit={make}>
        {failure && <Trouble failure={failure} />}
        <Select label={w.kind} value={kind} onInput={(value) => setKind(value as "url" | "key")} hint={kind === "url" ? w.urlHint : w.keyHint} options={[["url", w.kinds.url], ["key", w.kinds.key]]} />
        <TextField label={w.name} value={name} onInput={setName} placeholder={w.nameExample} required autoFocus />
        <div class="admin-pair">
          <Select label={w.namespace} value={namespace} onInput={setNamespace} options={[["", kind === "url" ? w.choose : w.everywhere], ...spaces.map((each) => each.name)]} />
          <TextField label={w.profile} value={profile} onInput={setProfile} list={spaces.find((each) => each.name === namespace)?.profiles ?? []} placeholder={kind === "url" ? "" : w.every} required={kind === "url"} />
        </div>
        <fieldset class="field">
          <legend class="label">{w.rights}</legend>
          <div class="actions admin-rights">
            {allowed.map((right) => (
              <Check key={right} checked={rights.includes(right)} onInput={(on) => turn(right, on)}>
                {w.mayDo[right]}
              </Check>
            ))}
          </div>
        </fieldset>
        <Select label={w.expires} value={days} onInput={setDays} options={SPANS} />
        <div class="actions end">
          <Button look="plain" onClick={onClose}>
            {t.cancel}
          </Button>
          <Button type="submit" look="primary" busy={busy} disabled={name.trim() === "" || rights.length === 0 || (kind === "url" && (namespace === "" || profile === ""))}>
            {w.issueNow}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
