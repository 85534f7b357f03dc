/** Who is signed in, and which profile is shown. */
import { computed, effect, signal } from "@preact/signals";
import { asFailure, call, type Failure, root, whenSignedOut } from "./api";
import type { Credential } from "./types";
import { Profile } from "./profile";
import { go, place, to } from "./route";

interface SignedIn {
  credential: Credential;
  version: string;
}

/** undefined while nobody knows yet, null when nobody is signed in. */
export const me = signal<SignedIn | null | undefined>(undefined);
/** The token of the secret URL that this page was opened at; it has left the address by the time anything is shown. */
export const offered = signal<string | null>(takeSecret());
export const unreachable = signal<Failure | null>(null);

let shown: Profile | null = null;
export const profile = computed<Profile | null>(() => {
  const { namespace, profile: name } = place.value;
  if (namespace === null || name === null) return (shown = null);
  if (shown?.namespace === namespace && shown.name === name) return shown;
  return (shown = new Profile(namespace, name));
});

/** The profile that was shown last: where the navigation leads from pages that belong to none. */
export const latest = signal<Profile | null>(null);
effect(() => {
  if (profile.value !== null) latest.value = profile.value;
});

whenSignedOut(() => (me.value = null));

function takeSecret(): string | null {
  const found = /\/s\/([^/]+)\/?$/.exec(location.pathname);
  if (found === null) return null;
  history.replaceState(null, "", new URL(root).pathname);
  return decodeURIComponent(found[1]!);
}

export function may(right: "read" | "write" | "forget" | "admin"): boolean {
  const rights = me.value?.credential.rights ?? [];
  return rights.includes(right) || rights.includes("admin");
}

/** Whether they may administer everything: credentials, namespaces, the audit. */
export function mayAdminister(): boolean {
  return may("admin") && me.value?.credential.namespace === null;
}

export async function whoAmI(): Promise<void> {
  try {
    const found = await call<{ credential: Credential | null; version: string | null }>("GET", "ui/session");
    me.value = found.credential === null ? null : (found as SignedIn);
    unreachable.value = null;
  } catch (wrong) {
    unreachable.value = asFailure(wrong);
    me.value = null;
  }
}

export async function signIn(token: string, remember: boolean): Promise<void> {
  const found = await call<SignedIn>("POST", "ui/session", { body: { token, remember } });
  offered.value = null;
  const { namespace, profile: name } = found.credential;
  if (namespace !== null && name !== null) go(to(namespace, name, "home"), { replace: true });
  me.value = found;
}

export async function signOut(): Promise<void> {
  await call("DELETE", "ui/session");
  me.value = null;
  latest.value = null;
  go("#/", { replace: true });
}
