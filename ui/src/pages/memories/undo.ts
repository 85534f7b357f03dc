/** What was just done, with a way back: a toast whose button takes it back. */
import { asFailure } from "../../core/api";
import type { Profile } from "../../core/profile";
import { go, here, place } from "../../core/route";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";

/** Say it; `undo` is the id of the change, or null to take the newest change of the memory `made`. */
export async function told(of: Profile, text: string, undo: string | null, made?: string): Promise<void> {
  const id = undo ?? (made === undefined ? null : await latest(of, made));
  toast(text, id === null ? {} : { action: { label: t.undo.undo, act: () => void takeBack(of, id) } });
}

async function latest(of: Profile, made: string): Promise<string | null> {
  const { edits } = await of.edits(5).catch(() => ({ edits: [] }));
  return edits.find((edit) => edit.made.some(([id]) => id === made))?.id ?? null;
}

export async function takeBack(of: Profile, id: string): Promise<boolean> {
  const open = place.value.page === "memories" ? (place.value.rest[0] ?? "") : "";
  try {
    const { memories, removed } = await of.undo(id);
    toast(t.undo.undone);
    const back = memories[0];
    if (removed.includes(open)) go(back === undefined ? here("memories") : here("memories", [back.id]), { replace: true });
    return true;
  } catch (wrong) {
    toast(asFailure(wrong).message, { wrong: true });
    return false;
  }
}
