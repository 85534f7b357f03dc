/**
 * A list of any length: only what is in sight is in the page. Rows have one height. Arrow keys and j/k move,
 * Enter opens; more is asked for as the end comes near.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../core/keys";
import { t } from "../strings";

interface RowsProps<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  height: number;
  render: (item: T, at: number) => ComponentChildren;
  label: string;
  /** The row that is open or chosen. */
  active: string | null;
  onOpen: (item: T) => void;
  /** Ask for more; only called while `more` holds. */
  onEnd?: () => void;
  more?: boolean;
  foot?: ComponentChildren;
}

const AHEAD = 8;

export function Rows<T>({ items, keyOf, height, render, label, active, onOpen, onEnd, more, foot }: RowsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ first: 0, last: 30 });
  const at = useRef(-1);
  const activeAt = active === null ? -1 : items.findIndex((item) => keyOf(item) === active);
  if (activeAt >= 0) at.current = activeAt;

  const measure = () => {
    const { scrollTop = 0, clientHeight = 600 } = box.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / height) - AHEAD);
    const last = Math.ceil((scrollTop + clientHeight) / height) + AHEAD;
    setSeen((before) => (before.first === first && before.last === last ? before : { first, last }));
  };
  useLayoutEffect(() => {
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, [height]);
  useEffect(() => {
    if (more && seen.last >= items.length - AHEAD) onEnd?.();
  }, [seen.last, items.length, more]);

  const move = (step: number) => {
    const wanted = Math.max(0, Math.min(items.length - 1, at.current + step));
    const item = items[wanted];
    if (item === undefined || box.current === null) return;
    at.current = wanted;
    const [top, bottom] = [wanted * height, (wanted + 1) * height];
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    if (bottom > box.current.scrollTop + box.current.clientHeight) box.current.scrollTop = bottom - box.current.clientHeight;
    onOpen(item);
  };
  useShortcuts([
    { keys: "j", does: t.keys.nextRow, group: t.keys.lists, act: () => move(1) },
    { keys: "k", does: t.keys.previousRow, group: t.keys.lists, act: () => move(-1) },
  ]);

  const shown = items.slice(seen.first, seen.last);
  return (
    <div
      class="rows"
      ref={box}
      role="list"
      aria-label={label}
      tabIndex={0}
      onScroll={measure}
      onKeyDown={(event) => {
        if (event.target !== box.current) return;
        if (event.key === "ArrowDown") move(1);
        else if (event.key === "ArrowUp") move(-1);
        else return;
        event.preventDefault();
      }}
    >
      <div class="rows-all" role="presentation" style={{ height: `${items.length * height}px` }}>
        {shown.map((item, n) => {
          const key = keyOf(item);
          return (
            <div
              key={key}
              class="row"
              role="listitem"
              aria-current={key === active ? "true" : undefined}
              aria-posinset={seen.first + n + 1}
              aria-setsize={more ? -1 : items.length}
              style={{ transform: `translateY(${(seen.first + n) * height}px)`, height: `${height}px` }}
              onClick={() => onOpen(item)}
            >
              {render(item, seen.first + n)}
            </div>
          );
        })}
      </div>
      {foot}
    </div>
  );
}
