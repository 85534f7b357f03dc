/** Live changes of the current profile: one event stream for all listeners. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Happened } from "./types";
import type { Profile } from "./profile";

const TYPES = [
  "message.added", "message.forgotten", "message.shortened", "memory.added", "memory.superseded", "memory.forgotten",
  "digestion.progress", "reset",
];

export const listening = signal(false);
/** The last events of the profile, newest first. */
export const recent = signal<Happened[]>([]);

const KEPT = 60;
const RETRY_MS = 3000;
const heard = new Set<(event: Happened) => void>();
let stream: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
let last = 0;

/** Listen to this profile instead of the one before; null listens to none. */
export function listen(profile: Profile | null): void {
  clearTimeout(retry);
  stream?.close();
  stream = null;
  listening.value = false;
  recent.value = [];
  last = 0;
  if (profile !== null) open(profile);
}

function open(profile: Profile): void {
  const mine = new EventSource(profile.address("events", last > 0 ? { after: last } : {}));
  stream = mine;
  mine.onopen = () => {
    listening.value = true;
    if (last === 0) missed(); // views may have read before the stream began; later gaps are filled by the server
  };
  mine.onerror = () => {
    listening.value = false;
    if (mine.readyState !== EventSource.CLOSED || stream !== mine) return;
    retry = setTimeout(() => open(profile), RETRY_MS); // the browser has given up: the server said no
  };
  for (const type of TYPES) mine.addEventListener(type, (event) => tell(event as MessageEvent<string>));
}

function tell(message: MessageEvent<string>): void {
  const event = JSON.parse(message.data) as Happened;
  last = event.n;
  recent.value = [event, ...recent.value].slice(0, KEPT);
  for (const hear of [...heard]) hear(event);
}

/** Let every view that follows "reset" read again: a change may have gone by unheard. */
function missed(): void {
  const event: Happened = { n: 0, at: new Date().toISOString(), type: "reset" };
  for (const hear of [...heard]) hear(event);
}

/** Call `then` for each event of these types (a prefix such as "memory." is enough), while the view is shown. */
export function useEvents(types: string[], then: (event: Happened) => void): void {
  const latest = useRef(then);
  latest.current = then;
  const about = types.join(" ");
  useEffect(() => {
    const hear = (event: Happened) => {
      if (about.split(" ").some((type) => event.type.startsWith(type))) latest.current(event);
    };
    heard.add(hear);
    return () => void heard.delete(hear);
  }, [about]);
}

/** Like `useEvents`, but many events in a row are one call, at the most every so many milliseconds. */
export function useChanges(types: string[], then: () => void, milliseconds = 600): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEvents(types, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      then();
    }, milliseconds);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
