/** Entities and links: a picture that can be followed, at any moment of the memory's past, and the memories behind it. */
import "./graph.css";
import { useMemo, useState } from "preact/hooks";
import { root } from "../core/api";
import { useShortcuts } from "../core/keys";
import { useChanges } from "../core/live";
import { useLoad } from "../core/load";
import type { Drawn, Entity, Link } from "../core/types";
import { go, here, place } from "../core/route";
import { profile } from "../core/session";
import { useTitle } from "../parts/Page";
import { Snippet } from "../parts/Snippet";
import { Bones, Empty, Trouble } from "../parts/States";
import { t } from "../strings";
import { Sidebar } from "./graph/Sidebar";
import { Canvas } from "./graph/Canvas";
import { TimeSlider } from "./graph/TimeSlider";

const LIMIT = "500";
const AROUND = 200;
const NONE: string[] = [];

/** What is shown of the graph, as it stands in the address. */
export interface View {
  entity: string | null;
  to: string | null;
  as_of: string | null;
  past: boolean;
  limit: string;
}

function viewOfPlace(): View {
  const { rest, query } = place.value;
  return { entity: rest[0] ?? null, to: query.get("to"), as_of: query.get("as_of"), past: query.get("past") !== null, limit: query.get("limit") ?? LIMIT };
}

export function addressOf(view: View): string {
  const { entity, to, as_of, past, limit } = view;
  return here("graph", entity === null ? [] : [entity], { to, as_of, past: past ? "1" : null, limit: limit === LIMIT ? null : limit });
}

export default function Graph() {
  useTitle(t.graph.title);
  const of = profile.value!;
  const view = viewOfPlace();
  const { entity, to, as_of, past, limit } = view;
  const [expanded, setExpanded] = useState<string[]>([]);
  const whole = useKept(useLoad((stop) => of.graph({ as_of, past, limit: Number(limit) }, stop), [of.path, as_of, past, limit]));
  const missing = entity !== null && whole.value !== undefined && !whole.value.entities.some((each) => each.id === entity);
  const wanted = missing && !expanded.includes(entity) ? [...expanded, entity] : expanded;
  const around = useKept(useLoad((stop) => Promise.all(wanted.map((id) => of.graph({ entity: id, as_of, past, limit: AROUND }, stop).catch(() => nothing))), [of.path, as_of, past, wanted]));
  const way = useLoad(async (stop) => (entity === null || to === null ? null : of.way(entity, to, as_of, stop)), [of.path, entity, to, as_of]);
  useChanges(["memory.", "reset"], whole.again, 2500);
  useShortcuts([
    { keys: "Escape", does: t.graph.back, group: t.graph.title, act: () => go(addressOf(to !== null ? { ...view, to: null } : { ...view, entity: null })) },
    { keys: "e", does: t.graph.expand, group: t.graph.title, act: () => entity !== null && expand(entity) },
  ]);
  const expand = (id: string) => setExpanded((all) => (all.includes(id) ? all : [...all, id]));
  const drawn = useMemo(() => merged([whole.value, ...(around.value ?? []), way.value ?? undefined]), [whole.value, around.value, way.value]);
  const path = to !== null && way.value ? way.value.entities.map((each) => each.id) : NONE;
  if (whole.value === undefined) {
    return <div class="page">{whole.failure ? <Trouble failure={whole.failure} again={whole.again} /> : <Bones lines={8} />}</div>;
  }
  if (drawn.entities.length === 0 && as_of === null) return <Nothing />;
  return (
    <div class="page full graph">
      <div class="graph-main">
        <Canvas entities={drawn.entities} links={drawn.links} selected={entity} path={path} onSelect={(id) => go(addressOf({ ...view, entity: id, to: null }))} />
        <TimeSlider as_of={as_of} onChange={(moment) => go(addressOf({ ...view, as_of: moment }), { replace: true })} />
      </div>
      <Sidebar view={view} drawn={drawn} truncated={whole.value.truncated} way={way} expanded={expanded} onExpand={expand} />
    </div>
  );
}

const nothing: Drawn = { entities: [], links: [], truncated: false };

/** The value before stays until the next one is there: a slider must not blink. */
function useKept<T extends { value: unknown }>(loaded: T): T {
  const [kept] = useState<{ value: unknown }>({ value: undefined });
  if (loaded.value !== undefined) kept.value = loaded.value;
  return { ...loaded, value: kept.value };
}

function merged(parts: (Drawn | undefined)[]): { entities: Entity[]; links: Link[] } {
  const entities = new Map<string, Entity>();
  const links = new Map<string, Link>();
  for (const part of parts) {
    for (const each of part?.entities ?? []) entities.set(each.id, each);
    for (const each of part?.links ?? []) links.set(`${each.from}\n${each.to}\n${each.relation}\n${each.memory}`, each);
  }
  return { entities: [...entities.values()], links: [...links.values()] };
}

function Nothing() {
  const of = profile.value!;
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1>{t.graph.title}</h1>
          <p>{t.graph.about}</p>
        </div>
      </header>
      <Empty title={t.graph.empty}>
        <p>{t.graph.emptyAbout}</p>
        <Snippet code={t.graph.snippet(root, of.namespace, of.name)} />
      </Empty>
    </div>
  );
}
