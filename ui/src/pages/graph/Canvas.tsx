/** The picture on the page: created once, then updated; with buttons and keys to move in it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../../core/keys";
import type { Entity, Link } from "../../core/types";
import { Button } from "../../parts/Button";
import { t } from "../../strings";
import { drawable, Picture } from "./picture";

const STEP = 0.08;
const MOVES: Record<string, [number, number]> = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

interface CanvasProps {
  entities: Entity[];
  links: Link[];
  selected: string | null;
  path: string[];
  onSelect: (id: string | null) => void;
}

export function Canvas({ entities, links, selected, path, onSelect }: CanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture | null>(null);
  const [can] = useState(drawable);
  const latest = useRef(onSelect);
  latest.current = onSelect;
  useEffect(() => {
    if (!can) return;
    const made = (picture.current = new Picture(box.current!, (id) => latest.current(id)));
    const themed = new MutationObserver(() => made.recolour());
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      themed.disconnect();
      made.close();
      picture.current = null;
    };
  }, []);
  useEffect(() => picture.current?.show(entities, links), [entities, links]);
  useEffect(() => {
    picture.current?.highlight({ selected, path });
    if (selected !== null && path.length === 0) picture.current?.visit(selected);
    else if (path.length > 0) picture.current?.whole();
  }, [selected, path]);
  useShortcuts([
    { keys: "+", does: t.graph.zoomIn, group: t.graph.title, act: () => picture.current?.zoom(0.7) },
    { keys: "-", does: t.graph.zoomOut, group: t.graph.title, act: () => picture.current?.zoom(1.4) },
    { keys: "0", does: t.graph.whole, group: t.graph.title, act: () => picture.current?.whole() },
  ]);
  if (!can) {
    return (
      <div class="graph-stage graph-none" role="note">
        <strong>{t.graph.noWebgl}</strong>
        <p class="quiet">{t.graph.noWebglFix}</p>
      </div>
    );
  }
  return (
    <div class="graph-stage">
      <div
        ref={box}
        class="graph-canvas"
        role="img"
        tabIndex={0}
        aria-label={t.graph.picture(entities.length, links.length)}
        onKeyDown={(event) => {
          const by = MOVES[event.key];
          if (by === undefined) return;
          event.preventDefault();
          picture.current?.pan(...by);
        }}
      />
      <div class="graph-tools">
        <Button icon="plus" small label={t.graph.zoomIn} onClick={() => picture.current?.zoom(0.7)} />
        <Button icon="minus" small label={t.graph.zoomOut} onClick={() => picture.current?.zoom(1.4)} />
        <Button icon="whole" small label={t.graph.whole} onClick={() => picture.current?.whole()} />
      </div>
      <ul class="graph-legend small">
        <li class="people">{t.graph.legend.people}</li>
        <li class="places">{t.graph.legend.places}</li>
        <li class="other">{t.graph.legend.other}</li>
      </ul>
    </div>
  );
}
