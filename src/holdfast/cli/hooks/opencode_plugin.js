// Memory from Holdfast for OpenCode. Written by `holdfast connect opencode --hooks`; `--undo` removes it.
import { spawn } from "node:child_process";

const COMMAND = ["holdfast"];

/** Run one hook of Holdfast; resolves with what it prints, or with nothing. */
function hook(event, payload, directory) {
  return new Promise((resolve) => {
    const [program, ...first] = COMMAND;
    const child = spawn(program, [...first, "hook", event, "--client", "opencode"], {
      cwd: directory,
      stdio: ["pipe", "pipe", "ignore"],
    });
    let out = "";
    child.stdout.on("data", (piece) => (out += piece));
    child.on("error", () => resolve({ systemMessage: `Holdfast: memory is off, ${program} cannot be started.` }));
    child.on("close", () => {
      try {
        resolve(JSON.parse(out || "{}"));
      } catch {
        resolve({ systemMessage: "Holdfast: memory is off, its hook printed no JSON." });
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ ...payload, cwd: directory }));
  });
}

export const Holdfast = async ({ client, directory }) => {
  const started = new Set();

  const tell = async (message) => {
    if (!message) return;
    console.error(message);
    await client.tui.showToast({ body: { message, variant: "warning" } }).catch(() => {});
  };

  const store = async (event, id) => {
    const found = await client.session.messages({ path: { id } });
    const messages = (found.data ?? []).map(({ info, parts }) => ({
      role: info.role,
      content: parts
        .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
        .map((part) => part.text)
        .join("\n\n"),
      timestamp: new Date(info.time.created).toISOString(),
    }));
    await tell((await hook(event, { session_id: id, messages }, directory)).systemMessage);
  };

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = parts
        .filter((part) => part.type === "text" && !part.synthetic)
        .map((part) => part.text)
        .join("\n");
      const events = started.has(sessionID) ? ["UserPromptSubmit"] : ["SessionStart", "UserPromptSubmit"];
      started.add(sessionID);
      const answers = await Promise.all(
        events.map((event) => hook(event, { session_id: sessionID, prompt }, directory)),
      );
      const texts = answers.map((answer) => answer.hookSpecificOutput?.additionalContext).filter(Boolean);
      for (const line of new Set(answers.map((answer) => answer.systemMessage))) await tell(line);
      texts.forEach((text, index) =>
        parts.push({
          id: `prt_holdfast${Date.now().toString(36)}${index}`,
          sessionID,
          messageID: message.id,
          type: "text",
          synthetic: true,
          text,
        }),
      );
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await store("PreCompact", sessionID);
      started.delete(sessionID);
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await store("Stop", event.properties.sessionID);
    },
  };
};
