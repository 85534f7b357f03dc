/** Every turn's reads and writes, their duration, and why a memory was or was not in an answer. */
import "./traces.css";
import { place } from "../core/route";
import { Detail } from "./traces/Detail";
import { Timeline } from "./traces/Timeline";

export default function Traces() {
  const [id] = place.value.rest;
  return id === undefined ? <Timeline /> : <Detail key={id} id={id} />;
}
