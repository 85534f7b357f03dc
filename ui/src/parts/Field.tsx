/** Fields of forms, each with its label; `wrong` says what must change. */
import type { ComponentChildren, Ref } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  wrong?: string | null;
}

function Around({ id, label, hint, wrong, children }: FieldProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}

interface TextProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  type?: "text" | "search" | "url";
  mono?: boolean;
  required?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  inputRef?: Ref<HTMLInputElement>;
  /** What could be meant. */
  list?: string[];
}

export function TextField({ label, hint, wrong, value, onInput, mono, autoFocus, list, inputRef, ...more }: TextProps) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} wrong={wrong}>
      <input
        {...more}
        ref={inputRef}
        id={id}
        class={`input ${mono ? "mono" : ""}`}
        value={value}
        autofocus={autoFocus}
        spellcheck={!mono}
        list={list === undefined ? undefined : `${id}-list`}
        aria-invalid={wrong ? true : undefined}
        aria-describedby={wrong ? `${id}-wrong` : hint !== undefined ? `${id}-hint` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </Around>
  );
}

/** A secret: typed unseen, kept by the browser's own safe if the user wants. */
export function SecretField({ label, hint, wrong, value, onInput }: FieldProps & Pick<TextProps, "value" | "onInput">) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} wrong={wrong}>
      <input id={id} class="input mono" type="password" placeholder="hf_…" autocomplete="current-password" autofocus required value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </Around>
  );
}

interface AreaProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  mono?: boolean;
  placeholder?: string;
  autoFocus?: boolean;
}

export function TextArea({ label, hint, wrong, value, onInput, rows = 4, mono, placeholder, autoFocus }: AreaProps) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} wrong={wrong}>
      <textarea
        id={id}
        class={`input ${mono ? "mono" : ""}`}
        rows={rows}
        value={value}
        placeholder={placeholder}
        autofocus={autoFocus}
        spellcheck={!mono}
        aria-invalid={wrong ? true : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </Around>
  );
}

interface SelectProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  options: (string | [value: string, shown: string])[];
}

export function Select({ label, hint, wrong, value, onInput, options }: SelectProps) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} wrong={wrong}>
      <select id={id} class="input" value={value} onInput={(event) => onInput(event.currentTarget.value)}>
        {options.map((each) => {
          const [key, shown] = typeof each === "string" ? [each, each] : each;
          return (
            <option key={key} value={key}>
              {shown}
            </option>
          );
        })}
      </select>
    </Around>
  );
}

interface CheckProps {
  checked: boolean;
  onInput: (checked: boolean) => void;
  children: ComponentChildren;
}

export function Check({ checked, onInput, children }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onInput={(event) => onInput(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}
