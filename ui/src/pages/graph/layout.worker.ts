/** Computes the layout in a worker: takes nodes and edges, answers with positions as they settle. */
import iterate from "graphology-layout-forceatlas2/iterate";

export interface Task {
  run: number;
  /** x, y, size of each node. */
  nodes: Float32Array;
  /** From and to of each edge, as places in `nodes`. */
  edges: Uint32Array;
}

export interface Placed {
  run: number;
  /** x, y of each node. */
  at: Float32Array;
  done: boolean;
}

const PER_NODE = 10;
const PER_EDGE = 3;
const FRAME_MS = 50;
/** Drawing many takes the page a while: tell it less often. */
const MANY = 1500;
const LONG_FRAME_MS = 200;
const LONGEST_MS = 6000;
const STEPS = 500;
let now = 0;

onmessage = ({ data }: MessageEvent<Task>) => {
  now = data.run;
  const count = data.nodes.length / 3;
  const nodes = new Float32Array(count * PER_NODE);
  const edges = new Float32Array((data.edges.length / 2) * PER_EDGE);
  for (let n = 0; n < count; n++) {
    nodes.set([data.nodes[3 * n]!, data.nodes[3 * n + 1]!, 0, 0, 0, 0, 1, 1, data.nodes[3 * n + 2]!, 0], n * PER_NODE);
  }
  for (let n = 0; n < data.edges.length / 2; n++) {
    const [from, to] = [data.edges[2 * n]! * PER_NODE, data.edges[2 * n + 1]! * PER_NODE];
    edges.set([from, to, 1], n * PER_EDGE);
    nodes[from + 6]! += 1; // what has many links is heavy
    nodes[to + 6]! += 1;
  }
  const settings = {
    linLogMode: false, outboundAttractionDistribution: false, adjustSizes: false, edgeWeightInfluence: 1,
    strongGravityMode: true, gravity: 0.05, scalingRatio: 10, slowDown: 1 + Math.log(count),
    barnesHutOptimize: count > 800, barnesHutTheta: 0.6,
  };
  settle(data.run, settings, nodes, edges);
};

/** A few steps, then a look whether there is something newer to do. */
function settle(run: number, settings: Record<string, number | boolean>, nodes: Float32Array, edges: Float32Array): void {
  const began = performance.now();
  const frame = nodes.length / PER_NODE > MANY ? LONG_FRAME_MS : FRAME_MS;
  let steps = 0;
  const some = () => {
    if (run !== now) return;
    const until = performance.now() + frame;
    do {
      iterate(settings, nodes, edges);
      steps++;
    } while (performance.now() < until && steps < STEPS);
    const done = steps >= STEPS || performance.now() - began > LONGEST_MS;
    tell(run, nodes, done);
    if (!done) setTimeout(some);
  };
  some();
}

function tell(run: number, nodes: Float32Array, done: boolean): void {
  const at = new Float32Array((nodes.length / PER_NODE) * 2);
  for (let n = 0; n < nodes.length / PER_NODE; n++) {
    at[2 * n] = nodes[n * PER_NODE]!;
    at[2 * n + 1] = nodes[n * PER_NODE + 1]!;
  }
  postMessage({ run, at, done } satisfies Placed, { transfer: [at.buffer] });
}
