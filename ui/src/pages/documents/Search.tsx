/** Search in all documents, or in one. The address has the question. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../../core/keys";
import { useChanges } from "../../core/live";
import { useLoad, useStill } from "../../core/load";
import type { Hit } from "../../core/types";
import { go, here, place, withQuery } from "../../core/route";
import { profile } from "../../core/session";
import { Icon } from "../../parts/Icon";
import { MarkedWords } from "../../parts/Marked";
import { Shown } from "../../parts/States";
import { t } from "../../strings";

const PAUSE_MS = 180;
const HITS = 20;

export function SearchField({ label, value }: { label: string; value: string }) {
  const [typed, setTyped] = useState(value);
  const still = useStill(typed, PAUSE_MS);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (still.trim() !== (place.value.query.get("q") ?? "")) go(withQuery({ q: still.trim(), at: null }), { replace: true });
  }, [still]);
  useShortcuts([{ keys: "/", does: t.keys.search, group: t.documents.title, act: () => input.current?.focus() }]);
  return (
    <div class="documents-search">
      <Icon name="search" size={18} />
      <input ref={input} class="input" type="search" aria-label={label} placeholder={label} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
    </div>
  );
}

/** The passages that match, best first, of one document or of all. */
export function useFound(question: string, document?: string) {
  const of = profile.value!;
  const which = document === undefined ? { exists: true } : document;
  const found = useLoad(
    async (stop): Promise<Hit[]> => (question === "" ? [] : (await of.search({ query: question, limit: HITS, filter: { "metadata.document": which } }, stop)).hits),
    [of.path, question, document],
  );
  useChanges(["message.", "reset"], found.again, 1000);
  return found;
}

export function Found({ question }: { question: string }) {
  const found = useFound(question);
  return (
    <Shown of={found} lines={5}>
      {(hits) =>
        hits.length === 0 ? (
          <p class="quiet">{t.documents.noHits}</p>
        ) : (
          <ol class="documents-hits">
            {hits.map((hit) => (
              <li key={hit.id}>
                <a href={here("documents", [String(hit.metadata.document)], { q: question, at: hit.id })}>
                  <strong class="clip">{String(hit.metadata.title || hit.metadata.name || hit.metadata.document)}</strong>
                  <span class="small quiet">{whereabouts(hit.metadata)}</span>
                </a>
                <p>
                  <MarkedWords text={excerpt(body(hit.content, hit.metadata), question)} question={question} />
                </p>
              </li>
            ))}
          </ol>
        )
      }
    </Shown>
  );
}

export function whereabouts(metadata: Hit["metadata"]): string {
  return [metadata.page ? t.documents.page(String(metadata.page)) : "", metadata.heading ? String(metadata.heading) : ""].filter(Boolean).join(" · ");
}

/** The words of a passage without the headings at its top, which stand above it. */
export function body(content: string, metadata: Hit["metadata"]): string {
  const heading = String(metadata.heading ?? "");
  const known = new Set(["", heading, ...heading.split(" › ")]);
  const lines = content.split("\n");
  while (lines.length > 1 && known.has(lines[0]!.replace(/^#+\s*/, "").trim())) lines.shift();
  return lines.join("\n");
}

const EXCERPT = 420;

/** About so much of a passage, from shortly before the first word of the question. */
function excerpt(text: string, question: string): string {
  if (text.length <= EXCERPT) return text;
  const words = question.toLowerCase().split(/\W+/).filter((word) => word.length > 3);
  const first = Math.min(...words.map((word) => text.toLowerCase().indexOf(word.slice(0, 6))).filter((at) => at >= 0), text.length);
  const from = first === text.length ? 0 : Math.max(0, Math.min(first - 100, text.length - EXCERPT));
  return `${from > 0 ? "…" : ""}${text.slice(from, from + EXCERPT)}…`;
}
