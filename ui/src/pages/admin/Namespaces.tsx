/** Namespaces and their profiles: make one, look into one, delete one. */
import { useState } from "preact/hooks";
import { asFailure, call, type Failure } from "../../core/api";
import { to } from "../../core/route";
import { mayAdminister } from "../../core/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { TextField } from "../../parts/Field";
import { useSpaces } from "../../parts/Palette";
import { Shown, Trouble } from "../../parts/States";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";

const w = t.admin.places;
const SHOWN = 100;

interface Doomed {
  name: string;
  path: string;
  what: string;
}

export function Namespaces() {
  const spaces = useSpaces();
  const [adding, setAdding] = useState(false);
  const [doomed, setDoomed] = useState<Doomed | null>(null);
  return (
    <>
      {mayAdminister() && (
        <div class="admin-actions">
          <Button icon="plus" onClick={() => setAdding(true)}>
            {w.add}
          </Button>
        </div>
      )}
      <Shown of={spaces}>
        {(found) =>
          found.map((space) => (
            <section key={space.name} class="admin-block">
              <div class="section-head">
                <h2>{space.name}</h2>
                {mayAdminister() && (
                  <Button small look="plain" icon="trash" label={w.deleteSpace(space.name)} onClick={() => setDoomed({ name: space.name, path: pathOf(space.name), what: w.spaceGoes })} />
                )}
              </div>
              {space.profiles.length === 0 && <p class="quiet small">{t.choose.noProfiles}</p>}
              <ul class="lines">
                {space.profiles.slice(0, SHOWN).map((name) => (
                  <li key={name}>
                    <a class="clip" href={to(space.name, name, "home")}>
                      {name}
                    </a>
                    <Button small look="plain" icon="trash" label={w.deleteProfile(name)} onClick={() => setDoomed({ name, path: pathOf(space.name, name), what: w.profileGoes })} />
                  </li>
                ))}
              </ul>
              {space.profiles.length > SHOWN && <p class="quiet small">{w.more(space.profiles.length - SHOWN)}</p>}
            </section>
          ))
        }
      </Shown>
      {adding && <Add onClose={() => setAdding(false)} onDone={spaces.again} />}
      {doomed && <Delete doomed={doomed} onClose={() => setDoomed(null)} onDone={spaces.again} />}
    </>
  );
}

function pathOf(namespace: string, profile?: string): string {
  const space = `v1/namespaces/${encodeURIComponent(namespace)}`;
  return profile === undefined ? space : `${space}/profiles/${encodeURIComponent(profile)}`;
}

function Add({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const make = async (event: Event) => {
    event.preventDefault();
    try {
      await call("POST", "v1/namespaces", { body: { name } });
      toast(w.added(name));
      onDone();
      onClose();
    } catch (wrong) {
      setFailure(asFailure(wrong));
    }
  };
  return (
    <Dialog title={w.add} onClose={onClose}>
      <form class="form" onSubmit={make}>
        {failure && <Trouble failure={failure} />}
        <TextField label={w.name} value={name} onInput={setName} hint={w.nameHint} required autoFocus mono />
        <div class="actions end">
          <Button type="submit" look="primary" disabled={name.trim() === ""}>
            {w.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Deleting for good asks for the name. */
function Delete({ doomed, onClose, onDone }: { doomed: Doomed; onClose: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const remove = async () => {
    await call("DELETE", doomed.path);
    toast(w.deleted(doomed.name));
    onDone();
    onClose();
  };
  return (
    <Dialog title={w.deleteTitle(doomed.name)} onClose={onClose}>
      <p>{doomed.what}</p>
      <TextField label={w.typeName(doomed.name)} value={typed} onInput={setTyped} autoFocus mono />
      <div class="actions end">
        <Button look="plain" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button look="danger primary" icon="trash" disabled={typed !== doomed.name} onClick={remove}>
          {w.deleteNow}
        </Button>
      </div>
    </Dialog>
  );
}
