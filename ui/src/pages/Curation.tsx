/** Curation: memories that need a decision, the findings of an audit, and changes that can be undone. */
import "./curation.css";
import { useState } from "preact/hooks";
import { asFailure } from "../core/api";
import { useChanges } from "../core/live";
import { useLoad } from "../core/load";
import type { Audit, Edit, Finding, Review as Entry } from "../core/types";
import { here } from "../core/route";
import type { Profile } from "../core/profile";
import { may, profile } from "../core/session";
import { Button } from "../parts/Button";
import { TextArea } from "../parts/Field";
import { Page } from "../parts/Page";
import { Empty, Shown } from "../parts/States";
import { Ago, Tag } from "../parts/Tag";
import { toast } from "../parts/Toast";
import { t } from "../strings";
import { takeBack, told } from "./memories/undo";

const w = t.review;
const EDITS = 10;

export default function Review() {
  const of = profile.value!;
  const queue = useLoad((stop) => of.review(50, stop), [of.path, "review"]);
  const audit = useLoad((stop) => of.audit(stop), [of.path, "audit"]);
  const edits = useLoad((stop) => withTexts(of, stop), [of.path, "edits"]);
  const again = () => [queue, audit, edits].forEach((each) => each.again());
  useChanges(["memory.", "reset"], again, 1200);
  return (
    <Page title={w.title} about={w.about}>
      <div class="review">
        <section>
          <h2>{w.queue}</h2>
          <Shown of={queue} lines={5}>
            {({ review }) =>
              review.length === 0 ? (
                <p class="quiet">{w.nothing}</p>
              ) : (
                <ul class="review-queue">
                  {review.map((entry) => (
                    <Doubt key={entry.memory.id} entry={entry} again={again} />
                  ))}
                </ul>
              )
            }
          </Shown>
        </section>
        <div class="review-side">
          <section>
            <h2>{w.audit}</h2>
            <Shown of={audit}>{(found) => <Findings audit={found} again={again} />}</Shown>
          </section>
          <section>
            <h2>{w.edits}</h2>
            <Shown of={edits}>{(found) => <Edits edits={found} again={again} />}</Shown>
          </section>
        </div>
      </div>
    </Page>
  );
}

interface Told extends Edit {
  /** The texts of the changed memories, as far as they still exist. */
  text: string | null;
}

async function withTexts(of: Profile, stop: AbortSignal): Promise<Told[]> {
  const { edits } = await of.edits(EDITS, stop);
  const texts = await Promise.all(
    edits.map(async (edit) => {
      const id = edit.gone ? undefined : edit.made[0]?.[0];
      return id === undefined ? null : of.item(id, stop).then((item) => item.content, () => null);
    }),
  );
  return edits.map((edit, n) => ({ ...edit, text: texts[n] ?? null }));
}

function Doubt({ entry, again }: { entry: Entry; again: () => void }) {
  const of = profile.value!;
  const [editing, setEditing] = useState<string | null>(null);
  const answer = async (given: string, content?: string) => {
    const { undo } = await of.resolve(entry.memory.id, given, content);
    void told(of, w.done[given] ?? w.done.keep!, { undo });
    again();
  };
  return (
    <li>
      <div class="review-why small">
        <Tag look={entry.reason === "conflict" || entry.reason === "marked-wrong" ? "danger" : undefined}>{w.reasons[entry.reason] ?? entry.reason}</Tag>
        <span class="quiet">{entry.because}</span>
      </div>
      <a class="review-text" href={here("memories", [entry.memory.id])}>
        {entry.memory.content}
      </a>
      {entry.other && (
        <p class="small">
          {w.against} <a href={here("memories", [entry.other.id])}>{entry.other.content}</a>
        </p>
      )}
      {editing !== null && <TextArea label={t.memories.content} value={editing} onInput={setEditing} rows={2} autoFocus />}
      {may("write") && (
        <div class="actions">
          {editing === null
            ? entry.answers.map((given) => (
                <Button key={given} small onClick={() => (given === "edit" ? setEditing(entry.memory.content) : answer(given))}>
                  {w.answers[given] ?? given}
                </Button>
              ))
            : (
                <>
                  <Button small look="primary" disabled={editing.trim() === ""} onClick={() => answer("edit", editing)}>
                    {t.save}
                  </Button>
                  <Button small look="plain" onClick={() => setEditing(null)}>
                    {t.cancel}
                  </Button>
                </>
              )}
        </div>
      )}
    </li>
  );
}

function Findings({ audit, again }: { audit: Audit; again: () => void }) {
  const found = audit.findings.filter((each) => each.count > 0);
  if (found.length === 0) return <p class="quiet">{w.sound(audit.memories)}</p>;
  return (
    <ul class="review-findings">
      {found.map((each) => (
        <OneFinding key={each.name} finding={each} again={again} />
      ))}
    </ul>
  );
}

function OneFinding({ finding, again }: { finding: Finding; again: () => void }) {
  const of = profile.value!;
  const mend = async () => {
    try {
      const { fixed } = await of.mend(finding.name);
      void told(of, w.mended, { undo: fixed?.undo });
      again();
    } catch (wrong) {
      toast(asFailure(wrong).message, { wrong: true });
    }
  };
  return (
    <li>
      <div class="section-head">
        <strong>
          {w.findings[finding.name] ?? finding.name} <span class="quiet numbers">{finding.count}</span>
        </strong>
        {may("write") && (
          <Button small onClick={mend}>
            {w.mend[finding.name] ?? w.mend.other}
          </Button>
        )}
      </div>
      <ul class="small quiet">
        {finding.texts.slice(0, 4).map((text, n) => (
          <li key={n} class="clip">
            {text}
          </li>
        ))}
      </ul>
    </li>
  );
}

function Edits({ edits, again }: { edits: Told[]; again: () => void }) {
  const of = profile.value!;
  if (edits.length === 0) return <Empty title={w.noEdits} />;
  return (
    <ul class="lines">
      {edits.map((edit) => (
        <li key={edit.id}>
          <span class="review-edit">
            <span class="small quiet">
              {w.verbs[edit.verb] ?? edit.verb} · <Ago at={edit.at} />
            </span>
            {edit.text !== null && <span class="clip">{edit.text}</span>}
          </span>
          {may("write") && edit.verb !== "forget" && !edit.gone && (
            <Button small look="plain" onClick={async () => void ((await takeBack(of, edit.id)) && again())}>
              {t.undo.undo}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
