/** Retention rules of a profile or of its whole namespace, and what they would forget now. */
import { useState } from "preact/hooks";
import { asFailure, call, type Failure } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Json } from "../../core/types";
import type { Profile } from "../../core/profile";
import { Button } from "../../parts/Button";
import { Shown, Trouble } from "../../parts/States";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { ProfilePicker } from "./ProfilePicker";

const w = t.admin.retention;
const HOW = ["older_than", "beyond", "session_ended", "ttl"] as const;
type How = (typeof HOW)[number];

interface Rule {
  kind: string;
  how: How;
  value: string;
}

type Rules = { ttl?: Record<string, string>; forget?: Record<string, Json>[] } | null;

interface Retained {
  rule: Record<string, Json>;
  memories: number;
  messages: number;
}

export function Retention() {
  return <ProfilePicker>{(of) => <OfProfile of={of} />}</ProfilePicker>;
}

function OfProfile({ of }: { of: Profile }) {
  const loaded = useLoad((stop) => of.ask<{ retention: Rules }>("GET", "retention", { signal: stop }), [of.path]);
  return <Shown of={loaded}>{({ retention }) => <Editor key={JSON.stringify(retention)} of={of} rules={read(retention)} again={loaded.again} />}</Shown>;
}

function read(rules: Rules): Rule[] {
  const ttl = Object.entries(rules?.ttl ?? {}).map(([kind, value]): Rule => ({ kind, how: "ttl", value: String(value) }));
  const forget = (rules?.forget ?? []).map((rule): Rule => {
    const how = HOW.find((each) => each in rule) ?? "older_than";
    return { kind: String(rule.kind), how, value: String(rule[how]) };
  });
  return [...ttl, ...forget];
}

function written(rules: Rule[]): Rules {
  const ttl = Object.fromEntries(rules.filter((rule) => rule.how === "ttl").map((rule) => [rule.kind, rule.value]));
  const forget = rules.filter((rule) => rule.how !== "ttl").map((rule) => ({ kind: rule.kind, [rule.how]: rule.how === "beyond" ? Number(rule.value) : rule.value }));
  return { ...(Object.keys(ttl).length > 0 ? { ttl } : {}), ...(forget.length > 0 ? { forget } : {}) };
}

function Editor({ of, rules: before, again }: { of: Profile; rules: Rule[]; again: () => void }) {
  const [rules, setRules] = useState(before);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [would, setWould] = useState<Retained[] | null>(null);
  const change = (n: number, part: Partial<Rule>) => setRules(rules.map((rule, at) => (at === n ? { ...rule, ...part } : rule)));
  const doing = (act: () => Promise<void>) => async () => {
    setFailure(null);
    await act().catch((wrong: unknown) => setFailure(asFailure(wrong)));
  };
  const space = `v1/namespaces/${encodeURIComponent(of.namespace)}/retention`;
  const save = doing(async () => {
    await of.ask("PUT", "retention", { body: { rules: written(rules) } });
    toast(w.saved);
    again();
  });
  const saveAll = doing(async () => {
    await call("PUT", space, { body: { rules: written(rules) } });
    toast(w.savedAll(of.namespace));
  });
  const inherit = doing(async () => {
    await of.ask("PUT", "retention", { body: { rules: null } });
    again();
  });
  const look = doing(async () => setWould((await of.ask<{ retained: Retained[] }>("POST", "retention/apply", { body: { dry_run: true } })).retained));
  return (
    <div class="form">
      {failure && <Trouble failure={failure} />}
      {rules.length === 0 && <p class="quiet">{w.none}</p>}
      {rules.map((rule, n) => (
        <div key={n} class="rule">
          <input class="input mono" aria-label={w.kind} placeholder={w.kind} value={rule.kind} onInput={(event) => change(n, { kind: event.currentTarget.value })} />
          <select class="input" aria-label={w.how} value={rule.how} onInput={(event) => change(n, { how: event.currentTarget.value as How })}>
            {HOW.map((how) => (
              <option key={how} value={how}>
                {w.hows[how]}
              </option>
            ))}
          </select>
          <input class="input mono" aria-label={w.value} placeholder={rule.how === "beyond" ? "1000" : "90d"} value={rule.value} onInput={(event) => change(n, { value: event.currentTarget.value })} />
          <Button icon="trash" look="plain" label={w.remove} onClick={() => setRules(rules.filter((_, at) => at !== n))} />
        </div>
      ))}
      <div class="actions">
        <Button icon="plus" onClick={() => setRules([...rules, { kind: "", how: "older_than", value: "" }])}>
          {w.add}
        </Button>
      </div>
      <p class="small quiet">{w.about}</p>
      <div class="actions">
        <Button look="primary" onClick={save}>
          {w.save}
        </Button>
        <Button onClick={saveAll}>{w.saveAll(of.namespace)}</Button>
        <Button look="plain" onClick={inherit}>
          {w.inherit}
        </Button>
        <Button look="plain" onClick={look}>
          {w.look}
        </Button>
      </div>
      {would && <Would would={would} />}
    </div>
  );
}

function Would({ would }: { would: Retained[] }) {
  if (would.length === 0) return <p class="quiet">{w.nothingGoes}</p>;
  return (
    <ul class="lines">
      {would.map((each, n) => (
        <li key={n}>
          <code>{JSON.stringify(each.rule)}</code>
          <span class="numbers">{w.goes(each.memories, each.messages)}</span>
        </li>
      ))}
    </ul>
  );
}
