/** The command palette: go anywhere, find any memory, switch the profile, with the keyboard alone. */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../core/api";
import { type Loaded, useLoad, useStill } from "../core/load";
import type { Namespace, ProfileInfo } from "../core/types";
import { go, here, place, to } from "../core/route";
import { may, me, profile, signOut } from "../core/session";
import { nextTheme } from "../core/theme";
import { PAGES } from "../pages";
import { t } from "../strings";
import { helping } from "./Help";
import { Icon, type IconName } from "./Icon";

type Mode = "all" | "profiles";
export const palette = signal<Mode | null>(null);

interface Command {
  id: string;
  group: string;
  name: string;
  more?: string;
  icon: IconName;
  act: () => void;
}

const PAUSE_MS = 120;
const FOUND = 8;

export function Palette() {
  return palette.value === null ? null : <Opened mode={palette.value} />;
}

function Opened({ mode }: { mode: Mode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [asked, setAsked] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands(mode, asked);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => setAt(0), [asked]);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    dialog.current?.close();
    command.act();
  };
  const move = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((at + 1) % Math.max(1, commands.length));
    else if (event.key === "ArrowUp") setAt((at - 1 + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") run(commands[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t.palette.title}
      onClose={() => (palette.value = null)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={commands[at] && `palette-${at}`}
        aria-label={t.palette.title}
        placeholder={mode === "profiles" ? t.palette.chooseProfile : t.palette.ask}
        value={asked}
        autofocus
        onInput={(event) => setAsked(event.currentTarget.value)}
        onKeyDown={move}
      />
      <ul role="listbox" id="palette-list" ref={list} aria-label={t.palette.title}>
        {commands.map((command, n) => (
          <>
            {command.group !== commands[n - 1]?.group && (
              <li key={`group ${command.group}`} class="group" role="presentation">
                {command.group}
              </li>
            )}
            <li key={command.id} id={`palette-${n}`} role="option" aria-selected={n === at} onClick={() => run(command)} onMouseMove={() => setAt(n)}>
              <Icon name={command.icon} size={18} />
              <span class="clip">{command.name}</span>
              {command.more && <span class="quiet small clip">{command.more}</span>}
            </li>
          </>
        ))}
        {commands.length === 0 && (
          <li class="group" role="presentation">
            {t.palette.nothing}
          </li>
        )}
      </ul>
    </dialog>
  );
}

function useCommands(mode: Mode, asked: string): Command[] {
  const still = useStill(asked.trim(), PAUSE_MS);
  const spaces = useSpaces();
  const profiles = (spaces.value ?? []).flatMap((space) => space.profiles.map((name) => ({ namespace: space.name, name })));
  const found = useLoad(
    async (stop) => (mode === "all" && still.length > 1 && profile.value ? (await profile.value.search({ query: still, limit: FOUND }, stop)).hits : []),
    [mode, still],
  );
  const fits = (text: string) => asked.trim().toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
  const switches = profiles.filter((each) => fits(`${each.namespace} ${each.name}`)).map(switchTo);
  if (mode === "profiles") return switches;
  const hits: Command[] = (found.value ?? []).map((hit) => ({
    id: hit.id,
    group: t.palette.found,
    name: hit.summary || hit.content,
    more: hit.kind,
    icon: "memories",
    act: () => go(here("memories", [hit.id])),
  }));
  const some = asked.trim() === "" ? [] : switches.slice(0, 5);
  return [...fixed().filter((each) => fits(`${each.name} ${each.group}`)), ...some, ...hits];
}

function switchTo({ namespace, name }: { namespace: string; name: string }): Command {
  const page = place.value.profile === null ? "home" : place.value.page;
  return {
    id: `${namespace}\n${name}`,
    group: t.palette.profiles,
    name,
    more: namespace,
    icon: "memories",
    act: () => go(to(namespace, name, page)),
  };
}

function fixed(): Command[] {
  const pages: Command[] = profile.value === null ? [] : PAGES.map((page) => ({
    id: page.id,
    group: t.palette.go,
    name: page.title,
    icon: page.icon,
    act: () => go(here(page.id)),
  }));
  const rest: Command[] = [
    { id: "profiles", group: t.palette.do, name: t.palette.switchProfile, icon: "updown", act: () => setTimeout(() => (palette.value = "profiles")) },
    { id: "theme", group: t.palette.do, name: t.palette.theme, icon: "moon", act: nextTheme },
    { id: "help", group: t.palette.do, name: t.palette.help, icon: "help", act: () => setTimeout(() => (helping.value = true)) },
    { id: "leave", group: t.palette.do, name: t.signOut, icon: "leave", act: () => void signOut() },
  ];
  if (may("admin")) pages.push({ id: "admin", group: t.palette.go, name: t.admin.title, icon: "admin", act: () => go("#/admin") });
  return [...pages, ...rest];
}

export interface Space {
  name: string;
  profiles: string[];
}

/** Every namespace and profile that this sign-in may see. */
export function useSpaces(): Loaded<Space[]> {
  const own = me.value?.credential;
  return useLoad(async (stop): Promise<Space[]> => {
    if (own === undefined) return [];
    if (own.namespace !== null && own.profile !== null) return [{ name: own.namespace, profiles: [own.profile] }];
    if (own.namespace !== null) return [await spaceOf(own.namespace, stop)];
    const { namespaces } = await call<{ namespaces: Namespace[] }>("GET", "v1/namespaces", { signal: stop });
    return Promise.all(namespaces.map((each) => spaceOf(each.name, stop)));
  }, [own?.id]);
}

async function spaceOf(name: string, signal: AbortSignal): Promise<Space> {
  const path = `v1/namespaces/${encodeURIComponent(name)}/profiles`;
  const { profiles } = await call<{ profiles: ProfileInfo[] }>("GET", path, { signal });
  return { name, profiles: profiles.map((each) => each.name) };
}
