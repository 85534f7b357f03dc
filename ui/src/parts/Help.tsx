/** The keyboard, on one page: whatever is bound where the user is. */
import { signal } from "@preact/signals";
import { shortcuts } from "../core/keys";
import { t } from "../strings";
import { Dialog } from "./Dialog";

export const helping = signal(false);
const MOD = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl";

export function Help() {
  if (!helping.value) return null;
  const groups = new Map<string, Map<string, string>>();
  for (const { keys, does, group } of shortcuts.value) {
    groups.set(group, (groups.get(group) ?? new Map<string, string>()).set(keys, does));
  }
  return (
    <Dialog title={t.keys.title} onClose={() => (helping.value = false)}>
      {[...groups].map(([group, bound]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl class="keys">
            {[...bound].map(([keys, does]) => (
              <div key={keys}>
                <dt>{does}</dt>
                <dd>
                  <Keys keys={keys} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

export function Keys({ keys }: { keys: string }) {
  return (
    <>
      {keys.split(/[ +]/).map((key, n) => (
        <kbd key={n}>{key === "mod" ? MOD : key.length === 1 && keys.includes("mod") ? key.toUpperCase() : key}</kbd>
      ))}
    </>
  );
}
