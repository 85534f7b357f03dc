/**
 * Where we are: everything stands in the address's fragment, so a link or a reload brings back the same view.
 *
 *   #/p/{namespace}/{profile}/{page}/{rest…}?{query}     a page of a profile
 *   #/admin/{section}                                    administration
 *   #/                                                   where a sign-in lands
 */
import { computed, signal } from "@preact/signals";

export interface Place {
  namespace: string | null;
  profile: string | null;
  page: string;
  rest: string[];
  query: URLSearchParams;
}

function parsed(fragment: string): Place {
  const [path = "", query = ""] = fragment.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decoded);
  const asked = new URLSearchParams(query);
  if (parts[0] === "p" && parts[1] !== undefined && parts[2] !== undefined) {
    const [, namespace, profile, page = "home", ...rest] = parts;
    return { namespace, profile, page, rest, query: asked };
  }
  return { namespace: null, profile: null, page: parts[0] ?? "", rest: parts.slice(1), query: asked };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

export const place = computed(() => parsed(fragment.value));

type Query = Record<string, string | null | undefined>;

/** The address of a page of a profile. */
export function to(namespace: string, profile: string, page: string, rest: string[] = [], query: Query = {}): string {
  const path = ["p", namespace, profile, page, ...rest].map(encodeURIComponent).join("/");
  return `#/${path}${tail(query)}`;
}

/** The address of another page or view of the profile that is shown. */
export function here(page: string, rest: string[] = [], query: Query = {}): string {
  const { namespace, profile } = place.value;
  return namespace === null || profile === null ? "#/" : to(namespace, profile, page, rest, query);
}

/** The same view with some of its query changed; null and "" take a part out. */
export function withQuery(changes: Query): string {
  const { namespace, profile, page, rest, query } = place.value;
  const now = { ...Object.fromEntries(query), ...changes };
  return namespace !== null && profile !== null
    ? to(namespace, profile, page, rest, now)
    : `#/${[page, ...rest].map(encodeURIComponent).join("/")}${tail(now)}`;
}

function tail(query: Query): string {
  const kept = Object.entries(query).filter(([, value]) => value) as [string, string][];
  return kept.length === 0 ? "" : `?${new URLSearchParams(kept)}`;
}

export function go(href: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", href);
    fragment.value = location.hash;
  } else {
    location.hash = href;
  }
}
