/** Signing in: with a pasted token, or with the secret URL at which this page was opened. */
import "./signin.css";
import { useState } from "preact/hooks";
import { asFailure, type Failure } from "../core/api";
import { me, offered, signIn } from "../core/session";
import { Button } from "../parts/Button";
import { Check, SecretField } from "../parts/Field";
import { Mark } from "../parts/Icon";
import { useTitle } from "../parts/Page";
import { Snippet } from "../parts/Snippet";
import { Trouble } from "../parts/States";
import { t } from "../strings";

export function SignIn() {
  useTitle(t.signIn.title);
  const [token, setToken] = useState("");
  const [remember, setRemember] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const secret = offered.value;
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      await signIn(secret ?? token, remember);
    } catch (wrong) {
      setFailure(asFailure(wrong));
      offered.value = null;
    }
    setBusy(false);
  };
  return (
    <main class="signin">
      <form class="signin-box form" onSubmit={enter}>
        <div class="signin-brand">
          <Mark />
          <h1>{secret === null ? t.signIn.title : t.signIn.linkTitle}</h1>
          <p class="quiet">{secret === null ? t.signIn.about : t.signIn.linkAbout}</p>
          {secret !== null && me.value && <p class="quiet">{t.signIn.instead(me.value.credential.name)}</p>}
        </div>
        {failure && <Trouble failure={failure} />}
        {secret === null && (
          <SecretField label={t.signIn.token} value={token} onInput={setToken} hint={t.signIn.hint} />
        )}
        <Check checked={remember} onInput={setRemember}>
          {t.signIn.remember}
        </Check>
        <div class="actions">
          <Button type="submit" look="primary" busy={busy} disabled={secret === null && token.trim() === ""}>
            {secret === null ? t.signIn.enter : t.signIn.open}
          </Button>
          {secret !== null && (
            <Button look="plain" onClick={() => void (offered.value = null)}>
              {t.signIn.notNow}
            </Button>
          )}
        </div>
        {secret === null && (
          <details class="signin-help">
            <summary>{t.signIn.lost}</summary>
            <p>{t.signIn.lostHow}</p>
            <Snippet code={t.signIn.lostCode} />
          </details>
        )}
      </form>
    </main>
  );
}
