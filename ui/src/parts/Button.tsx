/** Things to press. A button whose action takes a while shows it and cannot be pressed twice. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { asFailure } from "../core/api";
import { Icon, type IconName } from "./Icon";
import { toast } from "./Toast";

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  look?: "primary" | "plain" | "danger" | "danger primary";
  small?: boolean;
  /** What it is called where only the icon is seen. */
  label?: string;
  type?: "button" | "submit";
  disabled?: boolean;
  busy?: boolean;
  pressed?: boolean;
  onClick?: (event: MouseEvent) => void | Promise<unknown>;
}

export function Button({ children, icon, look, small, label, type = "button", disabled, busy, pressed, onClick }: ButtonProps) {
  const [working, setWorking] = useState(false);
  const press = (event: MouseEvent) => {
    const done = onClick?.(event);
    if (!(done instanceof Promise)) return;
    setWorking(true);
    done.catch((wrong: unknown) => toast(asFailure(wrong).message, { wrong: true })).finally(() => setWorking(false));
  };
  const waits = busy || working;
  const only = children === undefined && icon !== undefined;
  return (
    <button
      type={type}
      class={`button ${look ?? ""} ${small ? "small" : ""} ${only ? "icon" : ""}`}
      disabled={disabled || waits}
      aria-label={label}
      aria-busy={waits || undefined}
      aria-pressed={pressed}
      title={only ? label : undefined}
      onClick={press}
    >
      {waits ? <span class="spinner" /> : icon !== undefined && <Icon name={icon} size={small ? 16 : 18} />}
      {children}
    </button>
  );
}

export function LinkButton({ href, children, icon, look }: { href: string; children: ComponentChildren; icon?: IconName; look?: string }) {
  return (
    <a class={`button ${look ?? ""}`} href={href}>
      {icon !== undefined && <Icon name={icon} size={18} />}
      {children}
    </a>
  );
}
