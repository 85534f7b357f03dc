/** One document: its metadata, its passages page by page with search words marked, and its actions. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../../core/keys";
import { useLoad } from "../../core/load";
import type { Document, Message } from "../../core/types";
import { go, here, place, withQuery } from "../../core/route";
import { may, profile } from "../../core/session";
import { Button, LinkButton } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { MarkedWords } from "../../parts/Marked";
import { Page } from "../../parts/Page";
import { Linked, OutLink } from "../../parts/Prose";
import { Progress, Shown } from "../../parts/States";
import { Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { body, SearchField, useFound, whereabouts } from "./Search";
import { facts, Failed, hasFailed, State } from "./DocumentList";

const READ = 60;
const POLL_MS = 2000;

export function DocumentDetail({ id }: { id: string }) {
  const of = profile.value!;
  const [forgetting, setForgetting] = useState(false);
  const document = useLoad((stop) => of.document(id, stop), [of.path, id]);
  const found = document.value;
  useEffect(() => {
    if (found?.state !== "waiting") return;
    const timer = setTimeout(document.again, POLL_MS);
    return () => clearTimeout(timer);
  }, [found]);
  useShortcuts([{ keys: "Escape", does: t.documents.back, group: t.documents.title, act: () => go(here("documents")) }]);
  const again = async () => {
    await of.retryDocument(id);
    toast(t.documents.retrying);
    document.again();
  };
  const actions = (
    <>
      <LinkButton href={here("documents")} icon="back" look="plain">
        {t.documents.back}
      </LinkButton>
      {found?.original && <LinkButton href={of.address(`documents/${encodeURIComponent(id)}/original`)}>{t.documents.download}</LinkButton>}
      {found && found.state !== "waiting" && may("write") && (
        <Button icon="reload" onClick={again}>
          {t.documents.again}
        </Button>
      )}
      {found && may("forget") && (
        <Button look="danger" onClick={() => setForgetting(true)}>
          {t.documents.forget}
        </Button>
      )}
    </>
  );
  return (
    <Page title={found?.title || found?.name || t.documents.title} about={found && [found.title ? found.name : "", ...facts(found)].filter(Boolean).join(" · ")} actions={actions}>
      <Shown of={document} lines={8}>
        {(read) => (
          <>
            <About document={read} again={document.again} />
            <Passages document={read} />
          </>
        )}
      </Shown>
      {forgetting && found && <Forgetting document={found} onClose={() => setForgetting(false)} />}
    </Page>
  );
}

function About({ document, again }: { document: Document; again: () => void }) {
  const { facts: names } = t.documents;
  const pairs: [string, string | null][] = [
    [names.author, document.author],
    [names.date, document.date],
    [names.language, document.language],
    [names.from, document.url],
    [names.notes, document.notes.join(" ") || null],
  ];
  const failed = hasFailed(document);
  const told = pairs.filter((pair): pair is [string, string] => pair[1] !== null && pair[1] !== "");
  return (
    <>
      {document.state === "waiting" && (
        <div class="documents-reading">
          <State document={document} />
          {!failed && <Progress percent={document.percent > 0 ? document.percent : undefined} label={t.documents.states[document.stage] ?? document.stage} />}
        </div>
      )}
      {failed && <Failed document={document} again={again} />}
      {told.length > 0 && (
        <dl class="pairs documents-pairs">
          {told.map(([name, value]) => (
            <>
              <dt key={name}>{name}</dt>
              <dd>{value === document.url ? <OutLink href={value} /> : value}</dd>
            </>
          ))}
        </dl>
      )}
    </>
  );
}

function Passages({ document }: { document: Document }) {
  const of = profile.value!;
  const asked = place.value.query.get("q") ?? "";
  const at = place.value.query.get("at");
  const [much, setMuch] = useState(READ);
  const read = useLoad(async (stop) => (await of.passages(document.id, 0, much, stop)).passages, [of.path, document.id, document.version, document.chunks, much]);
  const hits = useFound(asked, document.id);
  const list = useRef<HTMLDivElement>(null);
  const best = at ?? hits.value?.[0]?.id ?? null;
  const places = new Map((hits.value ?? []).map((hit, n) => [hit.id, n + 1]));
  useEffect(() => {
    if (best === null || asked === "" || read.value === undefined) return;
    if (read.value.some((each) => each.id === best)) list.current?.querySelector(".best")?.scrollIntoView({ block: "center" });
    else if (read.value.length === much && much < 1000) setMuch(1000);
  }, [best, read.value]);
  const step = (by: number) => {
    const ids = (hits.value ?? []).map((hit) => hit.id);
    const next = ids[(ids.indexOf(best ?? "") + by + ids.length) % Math.max(1, ids.length)];
    if (next !== undefined) go(withQuery({ at: next }), { replace: true });
  };
  useShortcuts([
    { keys: "n", does: t.keys.nextRow, group: t.documents.title, act: () => step(1) },
    { keys: "N", does: t.keys.previousRow, group: t.documents.title, act: () => step(-1) },
  ]);
  return (
    <Shown of={read} lines={8}>
      {(passages) =>
        passages.length === 0 ? (
          <p class="quiet">{t.documents.noPassages}</p>
        ) : (
          <>
            <SearchField label={t.documents.searchOne} value={asked} />
            {asked !== "" && hits.value?.length === 0 && <p class="quiet">{t.documents.noHits}</p>}
            {asked !== "" && (hits.value?.length ?? 0) > 0 && (
              <div class="actions documents-jumps">
                {hits.value!.slice(0, 8).map((hit, n) => (
                  <a key={hit.id} class={`tag ${hit.id === best ? "accent" : ""}`} href={withQuery({ at: hit.id })}>
                    {n + 1}. {hit.metadata.page ? t.documents.page(String(hit.metadata.page)) : String(hit.metadata.heading ?? "").split(" › ").at(-1)}
                  </a>
                ))}
              </div>
            )}
            <div class="documents-passages" ref={list}>
              {passages.map((passage, n) => (
                <Passage key={passage.id} passage={passage} before={passages[n - 1]} question={places.has(passage.id) ? asked : ""} best={asked !== "" && passage.id === best} place={places.get(passage.id)} />
              ))}
            </div>
            {passages.length === much && <Button onClick={() => setMuch(much + 200)}>{t.documents.more}</Button>}
          </>
        )
      }
    </Shown>
  );
}

function Passage({ passage, before, question, best, place: n }: { passage: Message; before: Message | undefined; question: string; best: boolean; place: number | undefined }) {
  const stands = whereabouts(passage.metadata);
  const same = before !== undefined && whereabouts(before.metadata) === stands;
  const text = body(passage.content, passage.metadata);
  return (
    <article class={best ? "best" : ""}>
      {(!same || n !== undefined) && (
        <header class="small quiet">
          <span>{same ? "" : stands}</span>
          {n !== undefined && <Tag look="accent" title={best ? t.documents.hit : undefined}>{n}</Tag>}
        </header>
      )}
      <p>{question === "" ? <Linked text={text} /> : <MarkedWords text={text} question={question} />}</p>
    </article>
  );
}

function Forgetting({ document, onClose }: { document: Document; onClose: () => void }) {
  const of = profile.value!;
  const goes = useLoad((stop) => of.forgetDocument(document.id, true, stop), [of.path, document.id, "dry"]);
  const forget = async () => {
    await of.forgetDocument(document.id, false);
    toast(t.documents.forgotten(document.name));
    go(here("documents"), { replace: true });
  };
  return (
    <Dialog title={t.documents.forgetTitle} onClose={onClose}>
      <Shown of={goes}>{(found) => <p>{t.documents.forgets(found.messages.length, found.memories.length)}</p>}</Shown>
      <div class="actions end">
        <Button onClick={onClose}>{t.cancel}</Button>
        <Button look="danger primary" onClick={forget}>
          {t.documents.forgetNow}
        </Button>
      </div>
    </Dialog>
  );
}
