/** One step of the layout, on matrices: 10 numbers a node, 3 an edge. The package has no types for it. */
declare module "graphology-layout-forceatlas2/iterate" {
  export default function iterate(settings: Record<string, number | boolean>, nodes: Float32Array, edges: Float32Array): void;
}
