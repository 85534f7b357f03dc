/** Files and pages in this memory: add them, follow how far they are, search and read them, forget them. */
import "./documents.css";
import { place } from "../core/route";
import { Shelf } from "./documents/Shelf";
import { Opened } from "./documents/Opened";

export default function Documents() {
  const [id] = place.value.rest;
  return id === undefined ? <Shelf /> : <Opened key={id} id={id} />;
}
