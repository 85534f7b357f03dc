/** What the list may be narrowed to, as a form; and what it is narrowed to, as chips that can be taken off. */
import { go, withQuery } from "../../core/route";
import { Button } from "../../parts/Button";
import { Check, Select, TextField } from "../../parts/Field";
import { Icon } from "../../parts/Icon";
import { t } from "../../strings";
import { type Field, FIELDS, type Sieve } from "./sieve";

const BUILT_IN = ["fact", "event", "instruction", "task", "summary"];
const TRUSTS = ["user", "agent", "document", "tool"];

function set(name: Field, value: string): void {
  go(withQuery({ [name]: value }), { replace: true });
}

export function Filters({ sieve, kinds, onClose }: { sieve: Sieve; kinds: string[]; onClose: () => void }) {
  const f = t.memories.fields;
  const every = [...new Set([...BUILT_IN, ...kinds, ...(sieve.q ? ["message"] : [])])].sort();
  return (
    <form
      class="memories-filters"
      onSubmit={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <Select label={f.kind} value={sieve.kind ?? ""} onInput={(value) => set("kind", value)} options={[["", t.memories.any], ...every]} />
      <Select label={f.trust} value={sieve.trust ?? ""} onInput={(value) => set("trust", value)} options={[["", t.memories.any], ...TRUSTS.map((each): [string, string] => [each, t.trust[each]!])]} />
      <TextField label={f.key} value={sieve.key ?? ""} onInput={(value) => set("key", value)} placeholder="home-" mono />
      <TextField label={f.session} value={sieve.session ?? ""} onInput={(value) => set("session", value)} mono />
      <TextField label={f.agent} value={sieve.agent ?? ""} onInput={(value) => set("agent", value)} mono />
      <TextField label={f.meta} value={sieve.meta ?? ""} onInput={(value) => set("meta", value)} placeholder="room=3, pinned" mono />
      <DateField label={f.since} value={sieve.since ?? ""} onInput={(value) => set("since", value)} />
      <DateField label={f.until} value={sieve.until ?? ""} onInput={(value) => set("until", value)} />
      <DateField label={f.as_of} value={(sieve.as_of ?? "").slice(0, 10)} onInput={(value) => set("as_of", value)} />
      <span />
      <Check checked={sieve.superseded === "yes"} onInput={(on) => set("superseded", on ? "yes" : "")}>
        {f.superseded}
      </Check>
      <Check checked={sieve.expired === "yes"} onInput={(on) => set("expired", on ? "yes" : "")}>
        {f.expired}
      </Check>
      <div class="actions end">
        <Button look="plain" small onClick={() => go(withQuery(Object.fromEntries(FIELDS.filter((each) => each !== "q").map((each) => [each, ""]))), { replace: true })}>
          {t.memories.clear}
        </Button>
        <Button type="submit" small>
          {t.memories.done}
        </Button>
      </div>
    </form>
  );
}

function DateField({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      <input class="input" type="date" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

export function ActiveFilters({ sieve }: { sieve: Sieve }) {
  const on = FIELDS.filter((name) => name !== "q" && sieve[name]);
  if (on.length === 0) return null;
  return (
    <div class="memories-chips">
      {on.map((name) => (
        <button key={name} type="button" class="tag accent" onClick={() => set(name, "")}>
          <span class="unseen">{t.memories.takeOff}: </span>
          {name === "superseded" || name === "expired" ? t.memories.fields[name] : `${t.memories.fields[name as Exclude<Field, "q">]}: ${sieve[name]}`}
          <Icon name="close" size={12} />
        </button>
      ))}
    </div>
  );
}
