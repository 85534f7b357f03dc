/** Credentials without their tokens: list, issue, replace and revoke. */
import { useState } from "preact/hooks";
import { call } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Credential } from "../../core/types";
import { me } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { IssueCredential } from "./IssueCredential";
import { type Issued, NewToken } from "./NewToken";

const w = t.admin.credentials;

export function Credentials() {
  const loaded = useLoad((stop) => call<{ credentials: Credential[] }>("GET", "v1/credentials", { signal: stop }), ["credentials"]);
  const [issuing, setIssuing] = useState(false);
  const [issued, setIssued] = useState<Issued | null>(null);
  const [ending, setEnding] = useState<Credential | null>(null);
  const got = (made: Issued) => {
    setIssuing(false);
    setIssued(made);
    loaded.again();
  };
  const rotate = async (credential: Credential) => got(await call<Issued>("POST", `v1/credentials/${credential.id}/rotate`, { query: { overlap: 0 } }));
  return (
    <>
      <div class="admin-actions">
        <Button icon="plus" look="primary" onClick={() => setIssuing(true)}>
          {w.issue}
        </Button>
      </div>
      <Shown of={loaded}>
        {({ credentials }) => (
          <div class="table-wrap" tabIndex={0}>
            <table class="table">
              <thead>
                <tr>
                  {w.columns.map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                  <th>
                    <span class="unseen">{w.actions}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {[...credentials].sort(byLife).map((each) => (
                  <Line key={each.id} credential={each} rotate={rotate} end={() => setEnding(each)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Shown>
      {issuing && <IssueCredential onClose={() => setIssuing(false)} onIssued={got} />}
      {issued && <NewToken issued={issued} onClose={() => setIssued(null)} />}
      {ending && <End credential={ending} onClose={() => setEnding(null)} onDone={loaded.again} />}
    </>
  );
}

function isPast(at: string | null): boolean {
  return at !== null && Date.parse(at) <= Date.now();
}

function ended(credential: Credential): boolean {
  return isPast(credential.revoked_at) || isPast(credential.expires_at);
}

function byLife(a: Credential, b: Credential): number {
  return Number(ended(a)) - Number(ended(b)) || (a.created_at < b.created_at ? 1 : -1);
}

function Line({ credential, rotate, end }: { credential: Credential; rotate: (credential: Credential) => Promise<void>; end: () => void }) {
  const over = ended(credential);
  const place = [credential.namespace, credential.profile].filter(Boolean).join(" / ") || w.everywhere;
  return (
    <tr class={over ? "over" : ""}>
      <td>
        <strong>{credential.name}</strong> {credential.id === me.value?.credential.id && <Tag look="accent">{w.you}</Tag>}
        <div class="quiet mono">{credential.id}</div>
      </td>
      <td>{w.kinds[credential.kind]}</td>
      <td>{place}</td>
      <td>{credential.kind === "admin" ? w.everything : credential.rights.join(", ")}</td>
      <td>{credential.used_at === null ? w.never : <Ago at={credential.used_at} />}</td>
      <td>{over ? <Tag>{isPast(credential.revoked_at) ? w.ended.revoked : w.ended.expired}</Tag> : credential.expires_at === null ? w.open : <Ago at={credential.expires_at} />}</td>
      <td class="right">
        {!over && (
          <span class="actions admin-row-actions">
            <Button small look="plain" icon="reload" label={w.rotate(credential.name)} onClick={() => rotate(credential)} />
            <Button small look="plain" icon="trash" label={w.revoke(credential.name)} onClick={end} />
          </span>
        )}
      </td>
    </tr>
  );
}

function End({ credential, onClose, onDone }: { credential: Credential; onClose: () => void; onDone: () => void }) {
  const revoke = async () => {
    await call("DELETE", `v1/credentials/${credential.id}`);
    toast(w.revoked(credential.name));
    onClose();
    onDone();
  };
  return (
    <Dialog title={w.revoke(credential.name)} onClose={onClose}>
      <p>{credential.id === me.value?.credential.id ? w.revokeSelf : w.revokeAbout}</p>
      <div class="actions end">
        <Button look="plain" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button look="danger primary" onClick={revoke}>
          {w.revokeNow}
        </Button>
      </div>
    </Dialog>
  );
}
