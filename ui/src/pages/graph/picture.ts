/** The graph as it is drawn: Sigma for the picture, a worker for the places. It knows nothing of pages. */
import { UndirectedGraph } from "graphology";
import Sigma from "sigma";
import type { NodeDisplayData, PartialButFor } from "sigma/types";
import type { Settings } from "sigma/settings";
import type { Entity, Link } from "../../core/types";
import type { Placed, Task } from "./layout.worker";

const FEW = 90;
const MANY = 1500;
const FONT = "Figtree, system-ui, sans-serif";

interface Colours {
  accent: string;
  ink: string;
  ink2: string;
  line: string;
  strong: string;
  surface: string;
}

export interface Shown {
  selected: string | null;
  /** Entities of a path, in order. */
  path: string[];
}

export class Picture {
  private readonly graph = new UndirectedGraph();
  private readonly sigma: Sigma;
  private readonly worker: Worker;
  private colours = colours();
  private shown: Shown = { selected: null, path: [] };
  private near = new Set<string>();
  private run = 0;
  private order: string[] = [];

  constructor(box: HTMLElement, onSelect: (id: string | null) => void) {
    this.sigma = new Sigma(this.graph, box, {
      allowInvalidContainer: true,
      zIndex: true,
      labelFont: FONT,
      labelSize: 12,
      labelWeight: "500",
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      stagePadding: 60,
      defaultDrawNodeHover: (context, data, settings) => this.drawHover(context, data, settings),
      nodeReducer: (id, data) => this.node(id, data),
      edgeReducer: (id, data) => this.edge(id, data),
    });
    // Sigma asks the graphics card which pixel is whose at every move of the mouse, and waits for it; we know where things are.
    Object.assign(this.sigma, { getNodeAtPosition: (point: { x: number; y: number }) => this.nodeAt(point) });
    this.recolour();
    this.sigma.on("clickNode", ({ node }) => onSelect(node));
    this.sigma.on("clickStage", () => onSelect(null));
    this.sigma.on("enterNode", () => {
      box.style.cursor = "pointer";
    });
    this.sigma.on("leaveNode", () => {
      box.style.cursor = "";
    });
    this.worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<Placed>) => this.place(data);
  }

  close(): void {
    this.worker.terminate();
    this.sigma.kill();
  }

  /** Draw these and no others; what stays keeps its place, what is new appears beside its neighbours. */
  show(entities: Entity[], links: Link[]): void {
    const wanted = new Map(entities.map((each) => [each.id, each]));
    const before = this.graph.order;
    this.graph.forEachNode((id) => void (wanted.has(id) || this.graph.dropNode(id)));
    this.graph.clearEdges();
    const beside = new Map<string, string>();
    for (const { from, to } of links) {
      if (this.graph.hasNode(from)) beside.set(to, from);
      if (this.graph.hasNode(to)) beside.set(from, to);
    }
    let fresh = 0;
    for (const [id, { name, type, memories }] of wanted) {
      const look = { label: name, kind: type, size: Math.min(18, 3 + 1.7 * Math.sqrt(memories)) };
      if (this.graph.hasNode(id)) this.graph.mergeNodeAttributes(id, look);
      else this.graph.addNode(id, { ...look, ...this.start(beside.get(id), fresh++, wanted.size) });
    }
    for (const { from, to, until } of links) {
      if (from === to || !wanted.has(from) || !wanted.has(to)) continue;
      if (this.graph.hasEdge(from, to)) continue;
      this.graph.addEdge(from, to, { size: wanted.size < FEW ? 1.5 : 1, over: until !== null });
    }
    const [few, many] = [this.graph.order < FEW, this.graph.order > MANY];
    this.sigma.setSetting("labelRenderedSizeThreshold", few ? 0 : 6);
    this.sigma.setSetting("labelDensity", few ? 4 : 0.8);
    this.sigma.setSetting("hideEdgesOnMove", many);
    this.sigma.setSetting("hideLabelsOnMove", many);
    this.highlight(this.shown);
    if (fresh > 0 || before !== this.graph.order) this.settle();
  }

  highlight(shown: Shown): void {
    this.shown = shown;
    const { selected, path } = shown;
    this.near = new Set(path.length > 0 ? path : selected !== null && this.graph.hasNode(selected) ? [selected, ...this.graph.neighbors(selected)] : []);
    this.sigma.refresh({ skipIndexation: true });
  }

  /** Bring an entity into the middle. */
  visit(id: string): void {
    const at = this.sigma.getNodeDisplayData(id);
    if (at) void this.sigma.getCamera().animate({ x: at.x, y: at.y, ratio: Math.min(this.sigma.getCamera().ratio, 0.6) }, { duration: calm() });
  }

  zoom(by: number): void {
    const camera = this.sigma.getCamera();
    void camera.animate({ ratio: camera.getBoundedRatio(camera.ratio * by) }, { duration: calm() });
  }

  pan(x: number, y: number): void {
    const camera = this.sigma.getCamera();
    camera.setState({ x: camera.x + x * camera.ratio, y: camera.y + y * camera.ratio });
  }

  whole(): void {
    void this.sigma.getCamera().animatedReset({ duration: calm() });
  }

  recolour(): void {
    this.colours = colours();
    this.sigma.setSetting("labelColor", { color: this.colours.ink });
    this.sigma.setSetting("defaultEdgeColor", this.colours.strong);
    this.sigma.refresh();
  }

  /** The nearest entity whose disc covers a point of the screen. */
  private nodeAt(point: { x: number; y: number }): string | null {
    const at = this.sigma.viewportToFramedGraph(point);
    const beside = this.sigma.viewportToFramedGraph({ x: point.x + 1, y: point.y });
    const pixel = Math.hypot(beside.x - at.x, beside.y - at.y);
    let [nearest, least]: [string | null, number] = [null, Infinity];
    for (const id of this.order) {
      const look = this.sigma.getNodeDisplayData(id);
      if (look === undefined) continue;
      const far = Math.hypot(look.x - at.x, look.y - at.y);
      if (far < least && far <= (this.sigma.scaleSize(look.size) + 2) * pixel) [nearest, least] = [id, far];
    }
    return nearest;
  }

  private start(beside: string | undefined, n: number, of: number): { x: number; y: number } {
    if (beside !== undefined) {
      const { x, y } = this.graph.getNodeAttributes(beside) as { x: number; y: number };
      return { x: x + Math.cos(n) * 2, y: y + Math.sin(n) * 2 };
    }
    const far = 4 * Math.sqrt(of) * Math.sqrt((n + 0.5) / of); // a sunflower: even, and the same each time
    return { x: far * Math.cos(n * 2.39996), y: far * Math.sin(n * 2.39996) };
  }

  private settle(): void {
    this.order = this.graph.nodes();
    const places = new Map(this.order.map((id, n) => [id, n]));
    const nodes = new Float32Array(this.order.length * 3);
    this.order.forEach((id, n) => {
      const { x, y, size } = this.graph.getNodeAttributes(id) as { x: number; y: number; size: number };
      nodes.set([x, y, size], 3 * n);
    });
    const edges = new Uint32Array(this.graph.size * 2);
    let at = 0;
    this.graph.forEachEdge((_, __, from, to) => {
      edges[at++] = places.get(from)!;
      edges[at++] = places.get(to)!;
    });
    this.worker.postMessage({ run: ++this.run, nodes, edges } satisfies Task, { transfer: [nodes.buffer, edges.buffer] });
  }

  private place({ run, at, done }: Placed): void {
    if (run !== this.run) return;
    const places = new Map(this.order.map((id, n) => [id, n]));
    this.graph.updateEachNodeAttributes(
      (id, look) => {
        const n = places.get(id);
        if (n === undefined) return look;
        look.x = at[2 * n];
        look.y = at[2 * n + 1];
        return look;
      },
      { attributes: ["x", "y"] },
    );
    const { selected, path } = this.shown;
    if (done && selected !== null && path.length === 0) this.sigma.once("afterRender", () => this.visit(selected));
  }

  private node(id: string, data: Record<string, unknown>): Partial<NodeDisplayData> {
    const { accent, ink2, strong, line } = this.colours;
    const kind = String(data.kind);
    const colour = kind === "user" || kind === "person" ? accent : kind === "place" || kind === "organisation" || kind === "team" ? ink2 : strong;
    const base = { ...(data as Partial<NodeDisplayData>), color: colour };
    if (this.near.size === 0) return base;
    if (!this.near.has(id)) return { ...base, color: line, label: "", zIndex: 0 };
    const chosen = id === this.shown.selected || this.shown.path.includes(id);
    return { ...base, zIndex: 2, forceLabel: true, highlighted: chosen, color: chosen ? accent : colour };
  }

  private edge(id: string, data: Record<string, unknown>) {
    const { accent, strong, line } = this.colours;
    if (this.near.size === 0) return { ...data, color: data.over ? line : strong };
    const [from, to] = this.graph.extremities(id) as [string, string];
    const { path, selected } = this.shown;
    const on = path.length > 0 ? Math.abs(path.indexOf(from) - path.indexOf(to)) === 1 && path.includes(from) && path.includes(to) : from === selected || to === selected;
    return { ...data, color: on ? accent : line, size: on ? 2 : 0.5, zIndex: on ? 2 : 0 };
  }

  private drawHover(context: CanvasRenderingContext2D, data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label" | "color">, settings: Settings): void {
    if (typeof data.label !== "string" || data.label === "") return;
    const { surface, strong, ink } = this.colours;
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    const wide = context.measureText(data.label).width + 16;
    context.beginPath();
    context.roundRect(data.x + data.size + 4, data.y - 12, wide, 24, 6);
    context.fillStyle = surface;
    context.strokeStyle = strong;
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(data.x, data.y, data.size + 3, 0, Math.PI * 2);
    context.strokeStyle = data.color;
    context.lineWidth = 1.5;
    context.stroke();
    context.fillStyle = ink;
    context.fillText(data.label, data.x + data.size + 12, data.y + 4);
  }
}

function calm(): number {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 300;
}

/** The tokens as the six digits that WebGL wants. */
function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { accent: of("--accent"), ink: of("--ink"), ink2: of("--ink-2"), line: of("--line"), strong: of("--line-strong"), surface: of("--surface") };
}

/** Whether this browser can draw it. */
export function drawable(): boolean {
  const canvas = document.createElement("canvas");
  return canvas.getContext("webgl2") !== null;
}
