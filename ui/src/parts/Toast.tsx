/** A word on what just happened, with a way back where there is one. */
import { signal } from "@preact/signals";

interface Toast {
  id: number;
  text: string;
  wrong: boolean;
  action?: { label: string; act: () => void };
}

const shown = signal<Toast[]>([]);
let next = 0;

export function toast(text: string, { wrong = false, action }: { wrong?: boolean; action?: Toast["action"] } = {}): void {
  const id = next++;
  shown.value = [...shown.value.slice(-2), { id, text, wrong, action }];
  setTimeout(() => drop(id), wrong || action ? 9000 : 4000);
}

function drop(id: number): void {
  shown.value = shown.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text, wrong, action }) => (
        <div key={id} class={`toast ${wrong ? "wrong" : ""}`}>
          <span>{text}</span>
          {action && (
            <button
              type="button"
              onClick={() => {
                drop(id);
                action.act();
              }}
            >
              {action.label}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
