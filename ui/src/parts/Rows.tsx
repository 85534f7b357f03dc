/**
 * A list of any length: only what is in sight is in the page. Rows have one height. Arrow keys and j/k move,
 * Enter opens; more is asked for as the end comes near.
 */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
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
  /** Changes when rows must be drawn anew although their items are the same. */
  stamp?: string;
}

const AHEAD = 8;

export function Rows<T>({ items, keyOf, height, render, label, active, onOpen, onEnd, more, foot, stamp }: RowsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ first: 0, last: 30 });
  const at = useRef(-1);
  const activeAt = useMemo(() => (active === null ? -1 : items.findIndex((item) => keyOf(item) === active)), [items, active]);
  if (activeAt >= 0) at.current = activeAt;

  const opens = useRef(onOpen);
  opens.current = onOpen;
  const row = (item: T, key: string, n: number) => (
    <div
      key={key}
      class="row"
      role="listitem"
      aria-current={key === active ? "true" : undefined}
      aria-posinset={n + 1}
      aria-setsize={more ? -1 : items.length}
      style={{ transform: `translateY(${n * height}px)`, height: `${height}px` }}
      onClick={() => opens.current(item)}
    >
      {render(item, n)}
    </div>
  );
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

  const drawn = useRef({ by: "", rows: new Map<string, { item: T; at: number; node: VNode }>() });
  const by = JSON.stringify([stamp, active, more ? -1 : items.length, height]);
  if (drawn.current.by !== by) drawn.current = { by, rows: new Map() };
  const rows = new Map<string, { item: T; at: number; node: VNode }>();
  for (let n = seen.first; n < Math.min(seen.last, items.length); n++) {
    const item = items[n]!;
    const key = keyOf(item);
    const before = drawn.current.rows.get(key);
    // the same element as before is not looked at again
    rows.set(key, before?.item === item && before.at === n ? before : { item, at: n, node: row(item, key, n) });
  }
  drawn.current.rows = rows;
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
        {[...rows.values()].map(({ node }) => node)}
      </div>
      {foot}
    </div>
  );
}
