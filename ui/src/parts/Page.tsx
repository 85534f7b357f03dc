/** The frame of a page: its title, a line under it, and what can be done with all of it. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../strings";

interface PageProps {
  title: string;
  about?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, about, actions, children }: PageProps) {
  useTitle(title);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${t.name}`;
  }, [title]);
}
