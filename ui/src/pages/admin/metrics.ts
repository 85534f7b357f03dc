/** The server's Prometheus counts → the few numbers that say whether it is well. */
export interface Vitals {
  requests: number;
  failed: number;
  streams: number;
  routes: { route: string; method: string; path: string; count: number; mean: number }[];
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function meaning(text: string): Vitals {
  const vitals: Vitals = { requests: 0, failed: 0, streams: 0, routes: [] };
  const times = new Map<string, { method: string; path: string; count: number; sum: number }>();
  for (const line of text.split("\n")) {
    const [, name, labelled = "", number] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const labels = Object.fromEntries([...labelled.matchAll(LABEL)].map(([, label, value]) => [label, value])) as Record<string, string>;
    const value = Number(number);
    if (name === "holdfast_requests_total") {
      vitals.requests += value;
      if (labels.status?.startsWith("5")) vitals.failed += value;
    } else if (name === "holdfast_event_streams") vitals.streams = value;
    else if (name === "holdfast_request_seconds_count" || name === "holdfast_request_seconds_sum") {
      const key = `${labels.method} ${labels.route}`;
      const known = times.get(key) ?? { method: labels.method ?? "", path: labels.route ?? "", count: 0, sum: 0 };
      times.set(key, { ...known, ...(name.endsWith("_count") ? { count: value } : { sum: value }) });
    }
  }
  vitals.routes = [...times].map(([route, { method, path, count, sum }]) => ({ route, method, path, count, mean: count === 0 ? 0 : sum / count }));
  vitals.routes.sort((a, b) => b.count - a.count);
  return vitals;
}
