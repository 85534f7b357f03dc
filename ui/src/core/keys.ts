/** Keyboard shortcuts: one listener, a list of what is bound now, and two-key sequences such as "g m". */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Shortcut {
  /** As in `KeyboardEvent.key`; "g m" is one after the other; "mod+k" is Ctrl or Cmd. */
  keys: string;
  /** What it does, for the help. */
  does: string;
  /** Which part of the help it belongs to. */
  group: string;
  act: (event: KeyboardEvent) => void;
  /** Also while typing in a field. */
  typing?: boolean;
}

export const shortcuts = signal<Shortcut[]>([]);
const PATIENCE_MS = 900;
let before = "";
let beforeAt = 0;

function typingIn(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const mod = event.ctrlKey || event.metaKey;
  const pressed = mod ? `mod+${event.key.toLowerCase()}` : event.key;
  const typing = typingIn(event.target) && !mod && event.key !== "Escape";
  const inDialog = document.querySelector("dialog[open]") !== null;
  const sequence = event.timeStamp - beforeAt < PATIENCE_MS ? `${before} ${pressed}` : pressed;
  for (const shortcut of [...shortcuts.value].reverse()) {
    if (shortcut.keys !== pressed && shortcut.keys !== sequence) continue;
    if ((typing && !shortcut.typing) || (inDialog && !mod)) continue;
    event.preventDefault();
    before = "";
    shortcut.act(event);
    return;
  }
  if (!typing) [before, beforeAt] = [pressed, event.timeStamp];
});

/** Bind shortcuts while a view is shown: before it is painted, so that no key is lost. */
export function useShortcuts(bound: Shortcut[]): void {
  const latest = useRef(bound);
  latest.current = bound;
  const about = bound.map((each) => each.keys).join("|");
  useLayoutEffect(() => {
    const mine = latest.current.map((each, n) => ({ ...each, act: (e: KeyboardEvent) => latest.current[n]?.act(e) }));
    shortcuts.value = [...shortcuts.peek(), ...mine];
    return () => void (shortcuts.value = shortcuts.peek().filter((each) => !mine.includes(each)));
  }, [about]);
}
