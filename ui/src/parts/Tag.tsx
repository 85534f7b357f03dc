/** Small words about a thing. */
import type { ComponentChildren } from "preact";
import { ago, exactly } from "../core/when";

export function Tag({ children, look, title }: { children: ComponentChildren; look?: "accent" | "danger" | "line"; title?: string }) {
  return (
    <span class={`tag ${look ?? ""}`} title={title}>
      {children}
    </span>
  );
}

/** A point in time as people say it; the exact one on hover. */
export function Ago({ at }: { at: string }) {
  return (
    <time datetime={at} title={exactly(at)}>
      {ago(at)}
    </time>
  );
}
