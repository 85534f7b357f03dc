/** Something that must be dealt with first. The browser's own dialog: it keeps the focus and closes on Escape. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../strings";
import { Button } from "./Button";

interface DialogProps {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, wide, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${wide ? "wide" : ""}`}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button icon="close" look="plain" small label={t.close} onClick={() => dialog.current?.close()} />
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
