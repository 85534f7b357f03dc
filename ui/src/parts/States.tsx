/** Nothing here yet, something wrong, something on its way: the three states that every view has beside its own. */
import type { ComponentChildren } from "preact";
import type { Failure } from "../core/api";
import type { Loaded } from "../core/load";
import { t } from "../strings";
import { Button } from "./Button";

/** An empty state teaches: what would stand here, and the exact way to get it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Trouble({ failure, again }: { failure: Failure; again?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <strong>{failure.message}</strong>
      {failure.fix && <span>{failure.fix}</span>}
      {again && (
        <div>
          <Button small icon="reload" onClick={again}>
            {t.again}
          </Button>
        </div>
      )}
    </div>
  );
}

export function Bones({ lines = 3 }: { lines?: number }) {
  return (
    <div class="bones" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, n) => (
        <span key={n} />
      ))}
    </div>
  );
}

export function Progress({ percent, label }: { percent?: number; label: string }) {
  const known = percent !== undefined;
  return (
    <div
      class={`progress ${known ? "" : "unknown"}`}
      role="progressbar"
      aria-label={label}
      aria-valuenow={known ? Math.round(percent) : undefined}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <i style={known ? { width: `${Math.max(2, Math.min(100, percent))}%` } : undefined} />
    </div>
  );
}

/** What was loaded, or its bones, or what went wrong. */
export function Shown<T>({ of, lines, children }: { of: Loaded<T>; lines?: number; children: (value: T) => ComponentChildren }) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.failure !== null) return <Trouble failure={of.failure} again={of.again} />;
  return <Bones lines={lines} />;
}
