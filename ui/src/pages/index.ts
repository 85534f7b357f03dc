/** The pages of a profile, in the order of the navigation. A page is one line here and one file that is loaded when asked for. */
import type { ComponentType } from "preact";
import type { IconName } from "../parts/Icon";
import { t } from "../strings";

export interface PageEntry {
  /** Its part of the address. */
  id: string;
  title: string;
  icon: IconName;
  /** The second key of its shortcut: g, then this. */
  key: string;
  /** In the bar at the bottom of a phone; there is room for four. */
  tab: boolean;
  load: () => Promise<{ default: ComponentType }>;
}

export const PAGES: PageEntry[] = [
  { id: "home", title: t.home.title, icon: "home", key: "h", tab: true, load: () => import("./Home") },
  { id: "memories", title: t.memories.title, icon: "memories", key: "m", tab: true, load: () => import("./Memories") },
  { id: "review", title: t.review.title, icon: "review", key: "r", tab: false, load: () => import("./Curation") },
  { id: "traces", title: t.traces.title, icon: "traces", key: "t", tab: true, load: () => import("./Traces") },
  { id: "graph", title: t.graph.title, icon: "graph", key: "g", tab: false, load: () => import("./Graph") },
  { id: "playground", title: t.playground.title, icon: "playground", key: "p", tab: true, load: () => import("./Playground") },
  { id: "documents", title: t.documents.title, icon: "documents", key: "d", tab: false, load: () => import("./Documents") },
];
