/** Beside the picture: a list of entities, or one entity with its links and their memories. */
import { useRef, useState } from "preact/hooks";
import { useShortcuts } from "../../core/keys";
import { type Loaded, useLoad, useStill } from "../../core/load";
import type { Drawn, Entity, Link } from "../../core/types";
import { go, here } from "../../core/route";
import { profile } from "../../core/session";
import { day } from "../../core/when";
import { Button, LinkButton } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Check, Select } from "../../parts/Field";
import { Icon } from "../../parts/Icon";
import { Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { addressOf, type View } from "../Graph";

const LISTED = 60;
const PAUSE_MS = 150;

interface SidebarProps {
  view: View;
  drawn: { entities: Entity[]; links: Link[] };
  truncated: boolean;
  way: Loaded<Drawn | null>;
  expanded: string[];
  onExpand: (id: string) => void;
}

export function Sidebar(props: SidebarProps) {
  const { view, drawn } = props;
  const entity = drawn.entities.find((each) => each.id === view.entity);
  return <aside class="graph-side">{entity === undefined ? <All {...props} /> : <One key={entity.id} entity={entity} {...props} />}</aside>;
}

function All({ view, drawn, truncated }: SidebarProps) {
  return (
    <>
      <header class="graph-head">
        <h1>{t.graph.title}</h1>
        <span class="quiet small numbers">
          {t.graph.counted(drawn.entities.length, drawn.links.length)} {truncated && t.graph.truncated}
        </span>
      </header>
      <div class="graph-options">
        <Select label={t.graph.limit} value={view.limit} onInput={(limit) => go(addressOf({ ...view, limit }))} options={t.graph.limits} />
        <Check checked={view.past} onInput={(past) => go(addressOf({ ...view, past }))}>
          {t.graph.past}
        </Check>
      </div>
      <Finder as_of={view.as_of} known={drawn.entities} hrefOf={(id) => addressOf({ ...view, entity: id })} />
    </>
  );
}

/** Find by name; with nothing typed, those that are mentioned most. */
function Finder({ as_of, known, hrefOf, onChosen }: { as_of: string | null; known: Entity[]; hrefOf: (id: string) => string; onChosen?: () => void }) {
  const of = profile.value!;
  const [typed, setTyped] = useState("");
  const still = useStill(typed.trim(), PAUSE_MS);
  const input = useRef<HTMLInputElement>(null);
  const found = useLoad(async (stop) => (still === "" ? null : (await of.entities({ query: still, as_of, limit: LISTED }, stop)).entities), [of.path, still, as_of]);
  useShortcuts([{ keys: "/", does: t.graph.find, group: t.graph.title, act: () => input.current?.focus() }]);
  const listed = found.value ?? [...known].sort((a, b) => b.memories - a.memories).slice(0, LISTED);
  return (
    <>
      <div class="graph-find">
        <Icon name="search" size={18} />
        <input ref={input} class="input" type="search" placeholder={t.graph.find} aria-label={t.graph.find} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </div>
      <ul class="graph-list" aria-label={t.graph.most}>
        {listed.map((each) => (
          <li key={each.id}>
            <a href={hrefOf(each.id)} onClick={onChosen}>
              <span class="clip">{each.name}</span>
              <span class="quiet small numbers">
                {t.graph.types[each.type] ?? each.type} · {each.memories}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {still !== "" && found.value?.length === 0 && <p class="quiet small">{t.graph.nobody}</p>}
    </>
  );
}

function One({ entity, view, drawn, way, expanded, onExpand }: SidebarProps & { entity: Entity }) {
  const of = profile.value!;
  const [finding, setFinding] = useState(false);
  const names = new Map(drawn.entities.map((each) => [each.id, each.name]));
  const links = drawn.links.filter((each) => each.from === entity.id || each.to === entity.id);
  const about = useLoad(async (stop) => (await of.about(entity.id, view.as_of, stop)).memories, [of.path, entity.id, view.as_of]);
  return (
    <>
      <header class="graph-head">
        <LinkButton href={addressOf({ ...view, entity: null, to: null })} icon="back" look="plain">
          {t.graph.back}
        </LinkButton>
        <h1>{entity.name}</h1>
        <span class="quiet small">
          {t.graph.types[entity.type] ?? entity.type} · {t.graph.mentions(entity.memories)}
          {entity.names.length > 0 && ` · ${t.graph.alsoCalled} ${entity.names.join(", ")}`}
        </span>
        <div class="actions">
          <Button small icon="graph" disabled={expanded.includes(entity.id)} onClick={() => onExpand(entity.id)}>
            {expanded.includes(entity.id) ? t.graph.expanded : t.graph.expand}
          </Button>
          <Button small onClick={() => setFinding(true)}>
            {t.graph.pathTo}
          </Button>
        </div>
      </header>
      {view.to !== null && <Way view={view} from={entity.name} way={way} />}
      <section>
        <h2>{t.graph.links}</h2>
        {links.length === 0 && <p class="quiet small">{t.graph.noLinks}</p>}
        <Links links={links} names={names} view={view} />
      </section>
      <section>
        <h2>{t.graph.memories}</h2>
        <Shown of={about}>
          {(memories) => (
            <ul class="graph-memories">
              {memories.map((memory) => (
                <li key={memory.id}>
                  <a href={here("memories", [memory.id])}>{memory.content}</a>
                  <span class="quiet small">
                    <Tag>{memory.kind}</Tag> <Ago at={memory.occurred_at ?? memory.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Shown>
      </section>
      {finding && (
        <Dialog title={t.graph.pathTitle(entity.name)} onClose={() => setFinding(false)}>
          <Finder as_of={view.as_of} known={drawn.entities.filter((each) => each.id !== entity.id)} hrefOf={(id) => addressOf({ ...view, to: id })} onChosen={() => setFinding(false)} />
        </Dialog>
      )}
    </>
  );
}

function Links({ links, names, view }: { links: Link[]; names: Map<string, string>; view: View }) {
  const named = (id: string) =>
    id === view.entity ? <span>{names.get(id) ?? id}</span> : <a href={addressOf({ ...view, entity: id, to: null })}>{names.get(id) ?? id}</a>;
  return (
    <ul class="graph-links">
      {links.map((link, n) => (
        <li key={n} class={link.until === null ? "" : "over"}>
          <span>
            {named(link.from)}{" "}
            <a class="relation" href={here("memories", [link.memory])}>
              {link.relation.replaceAll("-", " ")}
            </a>{" "}
            {named(link.to)}
          </span>
          {(link.since ?? link.until) !== null && (
            <span class="quiet small">{[link.since && t.graph.since(day(link.since)), link.until && t.graph.until(day(link.until))].filter(Boolean).join(", ")}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Way({ view, from, way }: { view: View; from: string; way: Loaded<Drawn | null> }) {
  return (
    <section class="graph-way card">
      <Shown of={way}>
        {(found) => {
          const names = new Map((found?.entities ?? []).map((each) => [each.id, each.name]));
          return (
            <>
              <h2>{t.graph.path(from, names.get(view.to!) ?? view.to!)}</h2>
              {found === null || found.links.length === 0 ? <p class="quiet">{t.graph.noPath}</p> : <Links links={found.links} names={names} view={{ ...view, entity: null }} />}
            </>
          );
        }}
      </Shown>
      <Button small onClick={() => go(addressOf({ ...view, to: null }))}>
        {t.graph.clearPath}
      </Button>
    </section>
  );
}
