// A chat's memory over HTTP, written for Cloudflare's Agent Memory binding; it knows nothing of Holdfast.
interface Env {
  MEMORY: AgentMemoryNamespace;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      return Response.json((await answer(request, env.MEMORY)) ?? { done: true });
    } catch (wrong) {
      return Response.json({ error: wrong instanceof Error ? wrong.message : "not an Error" }, { status: 500 });
    }
  },
};

async function answer(request: Request, memory: AgentMemoryNamespace): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url);
  const [user, what, id] = pathname.slice(1).split("/").map(decodeURIComponent);
  const asked = Object.fromEntries(searchParams);
  if (request.method === "DELETE" && what === undefined) return memory.deleteProfile(user);

  const profile = await memory.getProfile(user);
  switch (`${request.method} ${what}`) {
    case "POST messages": {
      const said = await request.json<{ role: "user" | "assistant"; content: string; at?: string }[]>();
      const messages = said.map(({ at, ...rest }) => ({ ...rest, timestamp: at ? new Date(at) : undefined }));
      return profile.ingest(messages, { sessionId: asked.session });
    }
    case "POST memories":
      return aged(await profile.remember({ content: await request.text(), sessionId: asked.session }));
    case "GET memories": {
      if (id) return aged(await profile.get(id));
      const { limit, cursor, session: sessionId, type } = asked;
      const page = await profile.list({
        limit: limit ? Number(limit) : undefined,
        cursor,
        sessionId,
        type: type as AgentMemoryMemoryType,
      });
      return { ...page, memories: page.memories.map(aged) };
    }
    case "DELETE memories":
      return profile.delete(id);
    case "GET recall":
      return profile.recall(asked.q, {
        thinkingLevel: "medium",
        responseLength: "short",
        referenceDate: asked.today ? new Date(asked.today) : undefined,
      });
    case "GET summary":
      return profile.getSummary({ sessionId: asked.session });
    case "DELETE sessions":
      return profile.deleteSession(asked.session);
    default:
      throw new Error(`There is no ${request.method} ${pathname}.`);
  }
}

/** Needs `createdAt` to be a Date, as the binding promises. */
function aged<T extends { createdAt: Date }>(memory: T) {
  return { ...memory, ageInSeconds: (Date.now() - memory.createdAt.getTime()) / 1000 };
}
