// Cloudflare's Agent Memory binding (`env.MEMORY`), answered by a Holdfast server over its Agent Memory HTTP API.
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

interface Env {
  HOLDFAST_URL: string;
  HOLDFAST_TOKEN: string;
  HOLDFAST_NAMESPACE: string;
  HOLDFAST_ACCOUNT?: string;
}

interface Props {
  namespace?: string; // set where the binding is declared; overrides HOLDFAST_NAMESPACE
}

interface Envelope {
  success: boolean;
  result: any;
  result_info?: { cursor: string };
  errors: { code: number; message: string; source?: { pointer: string } }[];
}

type Ask = (method: string, path: string, body?: unknown) => Promise<Envelope>;

class Namespace extends WorkerEntrypoint<Env, Props> implements AgentMemoryNamespace {
  async getProfile(profileName: string) {
    return new Profile(this.#ask, profilePath(profileName));
  }

  async deleteProfile(profileName: string): Promise<void> {
    await unlessNoProfile(this.#ask("DELETE", profilePath(profileName)));
  }

  #ask: Ask = async (method, path, body) => {
    const { HOLDFAST_URL, HOLDFAST_TOKEN, HOLDFAST_ACCOUNT = "local", HOLDFAST_NAMESPACE } = this.env;
    const account = segment("account", HOLDFAST_ACCOUNT);
    const namespace = segment("namespace", this.ctx.props?.namespace ?? HOLDFAST_NAMESPACE);
    const root = `${HOLDFAST_URL.replace(/\/+$/, "")}/client/v4/accounts/${account}/agent-memory`;
    const response = await fetch(`${root}/namespaces/${namespace}${path}`, {
      method,
      headers: { authorization: `Bearer ${HOLDFAST_TOKEN}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "manual", // a redirected DELETE could reach something else
    }).catch((cause) => {
      throw new Error(`Holdfast at ${HOLDFAST_URL} cannot be reached: ${cause.message}`);
    });
    const envelope = await response.json<Envelope>().catch(() => null);
    if (envelope?.success) return envelope;
    const [wrong] = envelope?.errors ?? [];
    throw Object.assign(new Error(wrong?.message ?? `Holdfast at ${HOLDFAST_URL} answered ${response.status}.`), {
      status: response.status,
      code: wrong?.code,
      pointer: wrong?.source?.pointer,
    });
  };
}

class Profile extends RpcTarget implements AgentMemoryProfile {
  #ask: Ask;
  #path: string;

  constructor(ask: Ask, path: string) {
    super();
    this.#ask = ask;
    this.#path = path;
  }

  async get(memoryId: string): Promise<AgentMemoryMemory> {
    return dated((await this.#ask("GET", `${this.#path}/memories/${segment("memory id", memoryId)}`)).result);
  }

  async delete(memoryId: string): Promise<AgentMemoryMemory> {
    return dated((await this.#ask("DELETE", `${this.#path}/memories/${segment("memory id", memoryId)}`)).result);
  }

  async remember({ content, sessionId }: AgentMemoryIncomingMemory): Promise<AgentMemoryMemory> {
    return dated((await this.#ask("POST", `${this.#path}/remember`, { content, sessionId })).result);
  }

  async ingest(messages: Iterable<AgentMemoryMessage>, options?: AgentMemoryIngestOptions): Promise<void> {
    await this.#ask("POST", `${this.#path}/ingest`, { messages: [...messages], sessionId: options?.sessionId });
  }

  async getSummary(options?: AgentMemoryGetSummaryOptions): Promise<AgentMemoryGetSummaryResponse> {
    const asked = this.#ask("POST", `${this.#path}/summary`, { sessionId: options?.sessionId });
    return (await unlessNoProfile(asked))?.result ?? { summary: "" };
  }

  async recall(query: string, options?: AgentMemoryRecallOptions): Promise<AgentMemoryRecallResult> {
    const asked = this.#ask("POST", `${this.#path}/recall`, { ...options, query });
    return (await unlessNoProfile(asked))?.result ?? { count: 0, answer: "", candidates: [] };
  }

  async list(options: AgentMemoryListMemoriesOptions = {}): Promise<AgentMemoryListMemoriesResult> {
    const { limit, cursor, sessionId, type } = options;
    const given = Object.entries({ per_page: limit, cursor, session_id: sessionId, type }).filter(([, v]) => v != null);
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const page = await unlessNoProfile(this.#ask("GET", `${this.#path}/memories?${query}`));
    const next = page?.result_info?.cursor;
    return { memories: (page?.result ?? []).map(dated), ...(next ? { cursor: next } : {}) };
  }

  async deleteSession(sessionId: string): Promise<void> {
    await unlessNoProfile(this.#ask("DELETE", `${this.#path}/sessions/${segment("session id", sessionId)}`));
  }
}

/** The binding's profiles exist once they are asked for, Holdfast's from their first write: until then, nothing. */
async function unlessNoProfile(asked: Promise<Envelope>): Promise<Envelope | undefined> {
  return asked.catch((wrong) => {
    if (wrong.status === 404 && wrong.pointer === "/profile") return undefined;
    throw wrong;
  });
}

function profilePath(name: string): string {
  if (typeof name !== "string" || name.length > 100 || !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name))
    throw new Error(`profile ${JSON.stringify(name)} is not a valid name; use 1 to 100 of a-z, 0-9 and inner hyphens.`);
  return `/profiles/${name}`;
}

/** One segment of a path. "." and ".." would climb to another path, however they are encoded. */
function segment(what: string, value: string): string {
  if (typeof value !== "string" || ["", ".", ".."].includes(value))
    throw new Error(`${what} ${JSON.stringify(value)} cannot be used in a path.`);
  return encodeURIComponent(value);
}

function dated<T>(memory: T & { createdAt: string; updatedAt: string }) {
  return { ...memory, createdAt: new Date(memory.createdAt), updatedAt: new Date(memory.updatedAt) };
}

export { Namespace as AgentMemoryNamespace };

export default { fetch: () => new Response("Bind this Worker; it has no pages.\n", { status: 404 }) };
