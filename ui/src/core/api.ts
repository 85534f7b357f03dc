/** The HTTP client: every request goes through `call`, every error becomes a `Failure`. */
import { t } from "../strings";

/** Where the server's root is, also below a path of a proxy and on a secret URL's own page. */
export const root = new URL(location.pathname.replace(/(\/s)?\/[^/]*$/, "/"), location.origin).href;

/** The name of the UI in traces, which separates its own reads from an agent's. */
export const SELF = "web-ui";

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fix: string | null = null,
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

export interface Asked {
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

let onSignedOut: () => void = () => {};

/** What to do when the server no longer knows this browser. */
export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

export function address(path: string, query: Asked["query"] = {}): string {
  const made = new URL(path, root);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") made.searchParams.set(name, String(value));
  }
  return made.href;
}

/** The raw answer of a request that succeeded; of one that failed, a `Failure`. */
export async function send(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const form = asked.body instanceof FormData;
  const headers: Record<string, string> = { accept: "application/json", "holdfast-agent": SELF, ...asked.headers };
  if (asked.body !== undefined && !form) headers["content-type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(address(path, asked.query), {
      method,
      headers,
      body: asked.body === undefined ? undefined : form ? (asked.body as FormData) : JSON.stringify(asked.body),
      signal: asked.signal,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
    });
  } catch (wrong) {
    if (wrong instanceof DOMException && wrong.name === "AbortError") throw wrong;
    throw new Failure(0, "unreachable", t.trouble.unreachable, t.trouble.unreachableFix);
  }
  if (answer.ok) return answer;
  const failure = await failureOf(answer);
  if (answer.status === 401 && path !== "ui/session") onSignedOut();
  throw failure;
}

async function failureOf(answer: Response): Promise<Failure> {
  try {
    const { error } = (await answer.json()) as {
      error: { code: string; message: string; fix: string | null; field: string | null };
    };
    const said = error.fix ? error.message.replace(error.fix, "").trim() : error.message; // the fix is shown by itself
    return new Failure(answer.status, error.code, said, error.fix, error.field);
  } catch {
    return new Failure(answer.status, "http", t.trouble.status(answer.status), t.trouble.statusFix);
  }
}

/** The JSON of an answer. */
export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  return (await (await send(method, path, asked)).json()) as T;
}

export function aborted(wrong: unknown): boolean {
  return wrong instanceof DOMException && wrong.name === "AbortError";
}

/** Turns any thrown value into a failure that can be shown. */
export function asFailure(wrong: unknown): Failure {
  return wrong instanceof Failure ? wrong : new Failure(0, "internal", String(wrong));
}
