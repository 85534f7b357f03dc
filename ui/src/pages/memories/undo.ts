/** Reports a change in a toast with a button that undoes it. */
import { asFailure } from "../../core/api";
import type { Profile } from "../../core/profile";
import { type Memory, versionRef } from "../../core/types";
import { go, here, place } from "../../core/route";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";

interface Undoing {
  /** The id of the change, where it is known. */
  undo?: string | null;
  /** The version that the change made, where its id is not known. */
  made?: Memory;
  /** What to do once it is undone. */
  then?: () => void;
}

/** Say it, with a button that undoes it. */
export async function told(of: Profile, text: string, { undo, made, then }: Undoing): Promise<void> {
  const id = undo ?? (made === undefined ? null : await latest(of, versionRef(made)));
  const act = async (change: string) => (await takeBack(of, change)) && then?.();
  toast(text, id === null ? {} : { action: { label: t.undo.undo, act: () => void act(id) } });
}

async function latest(of: Profile, made: string): Promise<string | null> {
  const { edits } = await of.edits(5).catch(() => ({ edits: [] }));
  return edits.find((edit) => edit.made.some(([ref]) => ref === made))?.id ?? null;
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
