/** Kinds with a JSON Schema: every version, and a form to register one. */
import { useState } from "preact/hooks";
import { asFailure, type Failure } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Json, KindInfo } from "../../core/types";
import type { Profile } from "../../core/profile";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { TextArea, TextField } from "../../parts/Field";
import { Snippet } from "../../parts/Snippet";
import { Empty, Shown, Trouble } from "../../parts/States";
import { Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { objectOf } from "../memories/Edit";
import { ProfilePicker } from "./ProfilePicker";

const w = t.admin.kinds;

export function Kinds() {
  return <ProfilePicker>{(of) => <OfProfile of={of} />}</ProfilePicker>;
}

function OfProfile({ of }: { of: Profile }) {
  const loaded = useLoad((stop) => of.ask<{ kinds: KindInfo[] }>("GET", "kinds", { signal: stop }), [of.path]);
  const [adding, setAdding] = useState(false);
  return (
    <>
      <div class="admin-actions">
        <Button icon="plus" onClick={() => setAdding(true)}>
          {w.add}
        </Button>
      </div>
      <Shown of={loaded}>
        {({ kinds }) =>
          kinds.length === 0 ? (
            <Empty title={w.none}>
              <p>{w.noneAbout}</p>
              <Snippet code={w.snippet} />
            </Empty>
          ) : (
            kinds.map((each) => (
              <section key={each.kind} class="admin-block">
                <div class="section-head">
                  <h2>
                    {each.kind} <Tag look="accent">{w.version(each.current)}</Tag>
                  </h2>
                </div>
                <Snippet code={JSON.stringify(each.versions.at(-1)?.schema ?? {}, null, 2)} wrap />
              </section>
            ))
          )
        }
      </Shown>
      {adding && <Register of={of} onClose={() => setAdding(false)} onDone={loaded.again} />}
    </>
  );
}

function Register({ of, onClose, onDone }: { of: Profile; onClose: () => void; onDone: () => void }) {
  const [kind, setKind] = useState("");
  const [version, setVersion] = useState("1");
  const [schema, setSchema] = useState(w.example);
  const [failure, setFailure] = useState<Failure | null>(null);
  const given: Record<string, Json> | null = objectOf(schema);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await of.ask("PUT", `kinds/${encodeURIComponent(kind)}`, { body: { schema: given, version: Number(version) } });
      toast(w.saved(kind));
      onDone();
      onClose();
    } catch (wrong) {
      setFailure(asFailure(wrong));
    }
  };
  return (
    <Dialog title={w.add} onClose={onClose}>
      <form class="form" onSubmit={save}>
        {failure && <Trouble failure={failure} />}
        <div class="admin-pair">
          <TextField label={w.kind} value={kind} onInput={setKind} placeholder="preference" required autoFocus mono />
          <TextField label={w.versionLabel} value={version} onInput={setVersion} mono />
        </div>
        <TextArea label={w.schema} value={schema} onInput={setSchema} rows={9} mono wrong={given === null ? w.badSchema : null} />
        <div class="actions end">
          <Button type="submit" look="primary" disabled={kind.trim() === "" || given === null || !/^\d+$/.test(version)}>
            {w.register}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
