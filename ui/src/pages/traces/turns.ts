/** Pure: traces and messages → turns, newest first. A turn is what one turn id did, or an ingest with what followed it. */
import type { Message, Trace } from "../../core/types";
import { t } from "../../strings";
import { beganAt } from "./outcome";

/** How the turns begin in which this UI asks something again. */
export const REPLAY = "replay-";

export function turnName(name: string): string {
  return name.startsWith(REPLAY) ? t.traces.replayed : t.traces.turn(name);
}

export interface Turn {
  key: string;
  /** As the agent named it. */
  name: string | null;
  session: string | null;
  at: number;
  traces: Trace[];
  messages: Message[];
}

export function turnsOf(traces: Trace[], messages: Message[]): Turn[] {
  const said = new Map(messages.map((each) => [each.id, each]));
  const turns: Turn[] = [];
  const open = new Map<string, Turn>();
  const keeper = new Map<string, Turn>();
  for (const trace of [...traces].sort((a, b) => beganAt(a) - beganAt(b))) {
    const { turn_id: name, session_id: session } = trace.caller;
    const read = trace.details.digested?.map((id) => keeper.get(id)).find((each) => each !== undefined);
    const label = name === null ? null : `${session ?? ""} ${name}`;
    const last = turns.at(-1);
    let turn = read ?? (label !== null ? open.get(label) : last?.name === null && last.session === session && trace.operation !== "ingest" ? last : undefined);
    if (turn === undefined) {
      turn = { key: trace.id, name, session, at: beganAt(trace), traces: [], messages: [] };
      turns.push(turn);
      if (label !== null) open.set(label, turn);
    }
    turn.traces.push(trace);
    for (const id of trace.details.new ?? []) {
      keeper.set(id, turn);
      const message = said.get(id);
      if (message !== undefined) turn.messages.push(message);
    }
  }
  for (const turn of turns) turn.messages.sort((a, b) => a.position - b.position);
  return [...turns, ...untraced(messages, keeper)].sort((a, b) => b.at - a.at);
}

/** What was said in operations whose traces are kept no longer: one turn for what came in together. */
function untraced(messages: Message[], keeper: Map<string, Turn>): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (keeper.has(message.id)) continue;
    const at = Date.parse(message.created_at);
    const last = turns.at(-1);
    if (last !== undefined && last.at === at) last.messages.push(message);
    else turns.push({ key: message.id, name: null, session: message.session_id, at, traces: [], messages: [message] });
  }
  return turns;
}
