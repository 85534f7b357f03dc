/** Everything that is known: a list of any length with search as you type, filters, and one memory in detail. */
import "./memories/memories.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../core/keys";
import { useLoad, useStill } from "../core/load";
import { go, here, place, withQuery } from "../core/route";
import { may, profile } from "../core/session";
import { count } from "../core/when";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { useTitle } from "../parts/Page";
import { Rows } from "../parts/Rows";
import { Bones, Trouble } from "../parts/States";
import { t } from "../strings";
import { BulkBar } from "./memories/Bulk";
import { Detail } from "./memories/Detail";
import { ActiveFilters, Filters } from "./memories/Filters";
import { type Row, useListing } from "./memories/listing";
import { MemoryRow } from "./memories/MemoryRow";
import { NothingFound, NothingOpen } from "./memories/Empty";
import { Remember } from "./memories/Remember";
import { filterOfAddress } from "./memories/filter";

const ROW = 72;
const PAUSE_MS = 150;

export default function Memories() {
  useTitle(t.memories.title);
  const of = profile.value!;
  const filter = filterOfAddress();
  const open = place.value.rest[0] ?? null;
  const [typed, setTyped] = useState(filter.q ?? "");
  const [filtering, setFiltering] = useState(false);
  const [adding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLInputElement>(null);
  const still = useStill(typed.trim(), PAUSE_MS);
  useEffect(() => {
    if (still !== (filter.q ?? "")) go(withQuery({ q: still }), { replace: true });
  }, [still]);
  const stats = useLoad((stop) => of.stats(stop), [of.path]);
  const listing = useListing(of, filter);
  const query = Object.fromEntries(place.value.query);
  const openRow = (row: Row) => go(here("memories", [row.id], query), { replace: open !== null });
  const choose = (id: string) => setChosen((now) => toggled(now, id));
  useShortcuts([
    { keys: "/", does: t.keys.search, group: t.memories.title, act: () => box.current?.focus() },
    { keys: "n", does: t.memories.remember, group: t.memories.title, act: () => may("write") && setAdding(true) },
    { keys: "x", does: t.memories.select, group: t.memories.title, act: () => open !== null && choose(open) },
    { keys: "Escape", does: t.memories.closeOrClear, group: t.memories.title, typing: true, act: () => leave() },
  ]);
  const leave = () => {
    if (document.activeElement === box.current) {
      if (typed) setTyped("");
      else box.current?.blur();
    } else if (chosen.size > 0) setChosen(new Set());
    else if (open !== null) go(here("memories", [], query));
  };
  const total = stats.value === undefined ? "" : count(stats.value.memories);
  return (
    <div class={`page full memories ${open === null ? "" : "has-open"}`}>
      <section class={`memories-list ${chosen.size > 0 ? "choosing" : ""}`} aria-label={t.memories.title}>
        <header class="memories-head">
          <div class="memories-title">
            <h1>{t.memories.title}</h1>
            <span class="quiet numbers">{total}</span>
            {may("write") && <Button icon="plus" small label={t.memories.remember} onClick={() => setAdding(true)} />}
          </div>
          <div class="memories-search">
            <Icon name="search" size={18} />
            <input ref={box} class="input" type="search" value={typed} placeholder={t.memories.search} aria-label={t.memories.search} onInput={(event) => setTyped(event.currentTarget.value)} />
            <Button icon="filter" label={t.memories.filters} pressed={filtering} onClick={() => setFiltering(!filtering)} />
          </div>
          {filtering && <Filters filter={filter} kinds={Object.keys(stats.value?.kinds ?? {})} onClose={() => setFiltering(false)} />}
          <ActiveFilters filter={filter} />
          {listing.news > 0 && (
            <Button small icon="reload" onClick={listing.again}>
              {t.memories.news(listing.news)}
            </Button>
          )}
        </header>
        <div class="memories-rows" aria-busy={listing.loading}>
          {listing.failure !== null && <div class="memories-pad"><Trouble failure={listing.failure} again={listing.again} /></div>}
          {listing.rows.length > 0 ? (
            <Rows
              key={JSON.stringify(filter)}
              items={listing.rows}
              keyOf={idOf}
              height={ROW}
              label={t.memories.title}
              active={open}
              onOpen={openRow}
              onEnd={listing.next}
              more={listing.more}
              stamp={[...chosen].join(" ")}
              render={(row) => <MemoryRow row={row} query={query} chosen={chosen.has(row.id)} onChoose={may("forget") || may("write") ? choose : undefined} />}
            />
          ) : listing.loading ? (
            <div class="memories-pad"><Bones lines={9} /></div>
          ) : (
            listing.failure === null && <NothingFound filter={filter} />
          )}
        </div>
        {chosen.size > 0 && <BulkBar ids={[...chosen]} onDone={() => setChosen(new Set())} />}
      </section>
      <section class="memories-detail" aria-label={t.memories.detail}>
        {open === null ? <NothingOpen /> : <Detail key={open} id={open} back={here("memories", [], query)} />}
      </section>
      {adding && <Remember onClose={() => setAdding(false)} />}
    </div>
  );
}

const idOf = (row: Row) => row.id;

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const made = new Set(set);
  if (!made.delete(id)) made.add(id);
  return made;
}
