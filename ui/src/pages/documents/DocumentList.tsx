/** Every document with its progress, and a search through all of them. */
import { useEffect } from "preact/hooks";
import { root } from "../../core/api";
import { useChanges } from "../../core/live";
import { useLoad } from "../../core/load";
import type { Document } from "../../core/types";
import { here, place } from "../../core/route";
import { may, profile } from "../../core/session";
import { bytes } from "../../core/when";
import { Button } from "../../parts/Button";
import { Page } from "../../parts/Page";
import { Snippet } from "../../parts/Snippet";
import { Empty, Progress, Shown } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";
import { AddDocuments } from "./Add";
import { Found, SearchField } from "./Search";

const SHOWN = 500;
const POLL_MS = 2000;

export function DocumentList() {
  const of = profile.value!;
  const asked = place.value.query.get("q") ?? "";
  const list = useLoad(async (stop) => (await of.ask<{ documents: Document[] }>("GET", "documents", { query: { limit: SHOWN }, signal: stop })).documents, [of.path]);
  useChanges(["message.", "digestion", "reset"], list.again, 1500);
  const moving = list.value?.some((each) => each.state === "waiting") ?? false;
  useEffect(() => {
    if (!moving) return;
    const timer = setTimeout(list.again, POLL_MS);
    return () => clearTimeout(timer);
  }, [list.value]);
  return (
    <Page title={t.documents.title} about={t.documents.about}>
      {may("write") ? <AddDocuments onAdded={list.again} /> : <p class="quiet">{t.documents.readonly}</p>}
      <Shown of={list} lines={6}>
        {(documents) =>
          documents.length === 0 ? (
            <Empty title={t.documents.none}>
              <p>{t.documents.noneAbout}</p>
              <Snippet code={t.documents.snippet(root, of.namespace, of.name)} />
            </Empty>
          ) : (
            <>
              <SearchField label={t.documents.search} value={asked} />
              {asked === "" ? (
                <ul class="documents-list" aria-label={t.documents.list}>
                  {documents.map((each) => (
                    <OneDocument key={each.id} document={each} again={list.again} />
                  ))}
                </ul>
              ) : (
                <Found question={asked} />
              )}
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function OneDocument({ document, again }: { document: Document; again: () => void }) {
  const { id, state, stage, percent } = document;
  const failed = hasFailed(document);
  return (
    <li>
      <div class="documents-row">
        <a href={here("documents", [id])} class="clip">
          {document.title || document.name}
        </a>
        <span class="small quiet numbers">{facts(document).join(" · ")}</span>
        <span class="documents-state">
          <State document={document} />
        </span>
      </div>
      {state === "waiting" && stage !== "done" && !failed && <Progress percent={percent > 0 ? percent : undefined} label={t.documents.states[stage] ?? stage} />}
      {failed && <Failed document={document} again={again} />}
    </li>
  );
}

/** Whether the last attempt failed; one that may succeed later is waiting for its next attempt. */
export function hasFailed({ state, error }: Document): boolean {
  return state === "failed" || (state === "waiting" && error !== null);
}

export function State({ document }: { document: Document }) {
  const { state, stage, percent } = document;
  const name = t.documents.states[state === "waiting" && !hasFailed(document) ? stage : state] ?? state;
  if (state === "failed") return <Tag look="danger">{name}</Tag>;
  if (state === "waiting") return <Tag look="accent">{percent > 0 && percent < 100 ? `${name} ${percent} %` : name}</Tag>;
  return (
    <span class="small quiet">
      <Ago at={document.updated_at} />
    </span>
  );
}

/** The error of a document, what to do, and a button to try again. */
export function Failed({ document, again }: { document: Document; again: () => void }) {
  const of = profile.value!;
  const retry = async () => {
    await of.retryDocument(document.id);
    toast(t.documents.retrying);
    again();
  };
  return (
    <div class="documents-failed small">
      <p>
        {document.error} {document.fix !== null && !document.error?.includes(document.fix) && document.fix}
        {document.retry_at !== null && (
          <span class="quiet">
            {" "}
            {t.documents.retryAt} <Ago at={document.retry_at} />
          </span>
        )}
      </p>
      {may("write") && (
        <Button small icon="reload" onClick={retry}>
          {t.documents.retry}
        </Button>
      )}
    </div>
  );
}

export function facts(document: Document): string[] {
  const told = [document.format, document.pages ? t.documents.pages(document.pages) : "", document.chunks > 0 ? t.documents.passages(document.chunks) : ""];
  return [...told, document.bytes > 0 ? bytes(document.bytes) : "", document.version > 1 ? t.documents.version(document.version) : ""].filter(Boolean);
}
