/** Files and pages in this memory: add them, follow how far they are, search and read them, forget them. */
import "./documents.css";
import { place } from "../core/route";
import { DocumentList } from "./documents/DocumentList";
import { DocumentDetail } from "./documents/Detail";

export default function Documents() {
  const [id] = place.value.rest;
  return id === undefined ? <DocumentList /> : <DocumentDetail key={id} id={id} />;
}
