/** The frame of every page: navigation, profile, palette, keyboard shortcuts. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asFailure, type Failure } from "./core/api";
import { useShortcuts } from "./core/keys";
import { listen } from "./core/live";
import { go, place, to } from "./core/route";
import { latest, may, me, profile, signOut } from "./core/session";
import { nextTheme } from "./core/theme";
import { PAGES } from "./pages";
import { Button } from "./parts/Button";
import { Dialog } from "./parts/Dialog";
import { Help, helping, Keys } from "./parts/Help";
import { Icon, Mark } from "./parts/Icon";
import { Palette, palette } from "./parts/Palette";
import { Bones, Trouble } from "./parts/States";
import { Toasts } from "./parts/Toast";
import { t } from "./strings";

const ADMIN = () => import("./pages/Admin");
const CHOOSE = () => import("./pages/Choose");

export function Shell() {
  const shown = profile.value;
  const main = useRef<HTMLElement>(null);
  useEffect(() => listen(shown), [shown]);
  useEffect(() => land(), [place.value.page, me.value]);
  useShortcuts([
    { keys: "mod+k", does: t.keys.palette, group: t.keys.everywhere, typing: true, act: () => (palette.value = palette.value ? null : "all") },
    { keys: "?", does: t.keys.help, group: t.keys.everywhere, act: () => (helping.value = true) },
    { keys: "g a", does: t.keys.goTo(t.admin.title), group: t.keys.everywhere, act: () => may("admin") && go("#/admin") },
    { keys: "p", does: t.keys.profiles, group: t.keys.everywhere, act: () => (palette.value = "profiles") },
    ...PAGES.map((page) => ({
      keys: `g ${page.key}`, does: t.keys.goTo(page.title), group: t.keys.everywhere, act: () => latest.value && go(lead(page.id)),
    })),
  ]);
  return (
    <div class="shell">
      <a class="skip" href={location.hash} onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        {t.skip}
      </a>
      <TopBar />
      <Side />
      <main class="main" id="main" tabIndex={-1} ref={main}>
        <Current />
      </main>
      <TabBar />
      <Palette />
      <Help />
      <Toasts />
    </div>
  );
}

/** A credential for one profile lands on that profile, whatever the address says less. */
function land(): void {
  const { page } = place.value;
  const own = me.value?.credential;
  if (page !== "" || !own || own.namespace === null || own.profile === null) return;
  go(to(own.namespace, own.profile, "home"), { replace: true });
}

function Current() {
  if (profile.value === null) {
    const admin = place.value.page === "admin" && may("admin");
    return <Lazy key={admin ? "admin" : "choose"} load={admin ? ADMIN : CHOOSE} />;
  }
  const entry = PAGES.find((each) => each.id === place.value.page) ?? PAGES[0]!;
  return <Lazy key={`${entry.id} ${profile.value.path}`} load={entry.load} />;
}

function Lazy({ load }: { load: () => Promise<{ default: ComponentType }> }) {
  const [page, setPage] = useState<{ default: ComponentType } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const start = () => void load().then(setPage, (wrong: unknown) => setFailure(asFailure(wrong)));
  useEffect(start, []);
  if (page !== null) return <page.default />;
  return <div class="page">{failure ? <Trouble failure={failure} again={() => location.reload()} /> : <Bones lines={6} />}</div>;
}

/** The address of a page of the profile that is shown, or was shown last. */
function lead(page: string): string {
  const of = profile.value ?? latest.value;
  return of === null ? "#/" : to(of.namespace, of.name, page);
}

function Brand() {
  return (
    <a class="brand" href={lead("home")} aria-label={t.name}>
      <Mark />
      <span>{t.name}</span>
    </a>
  );
}

function Whose() {
  const of = profile.value ?? latest.value;
  const [namespace, name] = of === null ? [null, null] : [of.namespace, of.name];
  return (
    <button type="button" class="whose" onClick={() => (palette.value = "profiles")} title={t.shell.switchProfile}>
      <span class="unseen">{t.shell.switchProfile}: </span>
      <span class="space clip">{namespace ?? t.shell.noProfile}</span>
      <span class="name clip">{name ?? t.shell.choose}</span>
      <Icon name="updown" size={16} />
    </button>
  );
}

function Links({ icons = 20 }: { icons?: number }) {
  const { page } = place.value;
  return (
    <nav class="nav" aria-label={t.shell.pages}>
      {latest.value !== null &&
        PAGES.map((each) => (
          <a key={each.id} href={lead(each.id)} aria-current={each.id === page ? "page" : undefined} title={each.title}>
            <Icon name={each.icon} size={icons} />
            <span>{each.title}</span>
          </a>
        ))}
      {may("admin") && (
        <a href="#/admin" aria-current={page === "admin" && profile.value === null ? "page" : undefined} title={t.admin.title}>
          <Icon name="admin" size={icons} />
          <span>{t.admin.title}</span>
        </a>
      )}
    </nav>
  );
}

function Side() {
  return (
    <aside class="side">
      <Brand />
      <Whose />
      <Links />
      <div class="side-foot">
        <button type="button" class="find" onClick={() => (palette.value = "all")} title={t.shell.find}>
          <Icon name="search" size={16} />
          <span>{t.shell.find}</span>
          <i aria-hidden="true">
            <Keys keys="mod+k" />
          </i>
        </button>
        <div class="side-tools">
          <Who />
          <Tools />
        </div>
      </div>
    </aside>
  );
}

function Who() {
  const own = me.value?.credential;
  return (
    <span class="who small quiet clip" title={own?.id}>
      {own?.name}
      <br />
      {own && (may("admin") ? t.shell.admin : t.shell.rights(own.rights))}
    </span>
  );
}

function Tools() {
  return (
    <>
      <Button icon="sun" look="plain" small label={t.shell.theme} onClick={nextTheme} />
      <Button icon="help" look="plain" small label={t.keys.title} onClick={() => void (helping.value = true)} />
      <Button icon="leave" look="plain" small label={t.signOut} onClick={signOut} />
    </>
  );
}

function TopBar() {
  return (
    <header class="topbar">
      <Brand />
      <Whose />
      <Button icon="search" look="plain" label={t.shell.find} onClick={() => void (palette.value = "all")} />
    </header>
  );
}

function TabBar() {
  const [more, setMore] = useState(false);
  const { page } = place.value;
  useEffect(() => setMore(false), [page]);
  return (
    <div class="tabbar">
      {latest.value !== null &&
        PAGES.filter((each) => each.tab).map((each) => (
          <a key={each.id} href={lead(each.id)} aria-current={each.id === page ? "page" : undefined}>
            <Icon name={each.icon} />
            {each.title}
          </a>
        ))}
      <button type="button" onClick={() => setMore(true)}>
        <Icon name="more" />
        {t.shell.more}
      </button>
      {more && (
        <Dialog title={t.shell.more} onClose={() => setMore(false)}>
          <Links />
          <div class="actions">
            <Who />
            <Tools />
          </div>
        </Dialog>
      )}
    </div>
  );
}
