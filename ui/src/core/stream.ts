/** Server-sent events of an answer to a POST, which the browser's own EventSource cannot ask. */
export interface Sent {
  event: string;
  data: string;
}

export async function* sent(answer: Response): AsyncGenerator<Sent> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += value;
      const blocks = held.split("\n\n");
      held = blocks.pop()!;
      for (const block of blocks) {
        const found: Sent = { event: "message", data: "" };
        for (const line of block.split("\n")) {
          if (line.startsWith("event: ")) found.event = line.slice(7);
          else if (line.startsWith("data: ")) found.data += line.slice(6);
        }
        if (found.data !== "") yield found;
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
