/** What every turn read and wrote, how long it took, and why a memory was or was not in what the agent was told. */
import "./traces.css";
import { place } from "../core/route";
import { Detail } from "./traces/Detail";
import { Timeline } from "./traces/Timeline";

export default function Traces() {
  const [id] = place.value.rest;
  return id === undefined ? <Timeline /> : <Detail key={id} id={id} />;
}
