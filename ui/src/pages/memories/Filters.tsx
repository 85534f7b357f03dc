/** The filters of the list as a form, and the active ones as chips that can be removed. */
import { go, withQuery } from "../../core/route";
import { Button } from "../../parts/Button";
import { Check, Select, TextField } from "../../parts/Field";
import { Icon } from "../../parts/Icon";
import { t } from "../../strings";
import { type Field, FIELDS, type MemoryFilter } from "./filter";

const BUILT_IN = ["fact", "event", "instruction", "task", "summary"];
const TRUSTS = ["user", "agent", "document", "tool"];

function set(name: Field, value: string): void {
  go(withQuery({ [name]: value }), { replace: true });
}

export function Filters({ filter, kinds, onClose }: { filter: MemoryFilter; kinds: string[]; onClose: () => void }) {
  const f = t.memories.fields;
  const every = [...new Set([...BUILT_IN, ...kinds, ...(filter.q ? ["message"] : [])])].sort();
  return (
    <form
      class="memories-filters"
      onSubmit={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <Select label={f.kind} value={filter.kind ?? ""} onInput={(value) => set("kind", value)} options={[["", t.memories.any], ...every]} />
      <Select label={f.trust} value={filter.trust ?? ""} onInput={(value) => set("trust", value)} options={[["", t.memories.any], ...TRUSTS.map((each): [string, string] => [each, t.trust[each]!])]} />
      <TextField label={f.key} value={filter.key ?? ""} onInput={(value) => set("key", value)} placeholder="home-" mono />
      <TextField label={f.session} value={filter.session ?? ""} onInput={(value) => set("session", value)} mono />
      <TextField label={f.agent} value={filter.agent ?? ""} onInput={(value) => set("agent", value)} mono />
      <TextField label={f.meta} value={filter.meta ?? ""} onInput={(value) => set("meta", value)} placeholder="room=3, pinned" mono />
      <DateField label={f.since} value={filter.since ?? ""} onInput={(value) => set("since", value)} />
      <DateField label={f.until} value={filter.until ?? ""} onInput={(value) => set("until", value)} />
      <DateField label={f.as_of} value={(filter.as_of ?? "").slice(0, 10)} onInput={(value) => set("as_of", value)} />
      <span />
      <Check checked={filter.superseded === "yes"} onInput={(on) => set("superseded", on ? "yes" : "")}>
        {f.superseded}
      </Check>
      <Check checked={filter.expired === "yes"} onInput={(on) => set("expired", on ? "yes" : "")}>
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

export function ActiveFilters({ filter }: { filter: MemoryFilter }) {
  const on = FIELDS.filter((name) => name !== "q" && filter[name]);
  if (on.length === 0) return null;
  return (
    <div class="memories-chips">
      {on.map((name) => (
        <button key={name} type="button" class="tag accent" onClick={() => set(name, "")}>
          <span class="unseen">{t.memories.takeOff}: </span>
          {name === "superseded" || name === "expired" ? t.memories.fields[name] : `${t.memories.fields[name as Exclude<Field, "q">]}: ${filter[name]}`}
          <Icon name="close" size={12} />
        </button>
      ))}
    </div>
  );
}
