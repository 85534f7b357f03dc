/** Adds files or a web page. Files may be dropped anywhere on the page; each shows its progress. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asFailure, type Failure } from "../../core/api";
import { upload } from "../../core/upload";
import type { Document } from "../../core/types";
import { profile } from "../../core/session";
import { Button } from "../../parts/Button";
import { TextField } from "../../parts/Field";
import { Icon } from "../../parts/Icon";
import { Progress, Trouble } from "../../parts/States";
import { toast } from "../../parts/Toast";
import { t } from "../../strings";

interface Going {
  n: number;
  name: string;
  percent: number;
  failure: Failure | null;
}

export function AddDocuments({ onAdded }: { onAdded: () => void }) {
  const of = profile.value!;
  const [going, setGoing] = useState<Going[]>([]);
  const [over, setOver] = useState(false);
  const [url, setUrl] = useState("");
  const [wrong, setWrong] = useState<Failure | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const next = useRef(0);
  const change = (n: number, to: Partial<Going>) => setGoing((all) => all.map((each) => (each.n === n ? { ...each, ...to } : each)));
  const drop = (n: number) => setGoing((all) => all.filter((each) => each.n !== n));

  const give = async (files: File[]) => {
    const mine = files.map((file) => ({ file, n: next.current++ }));
    setGoing((all) => [...all, ...mine.map(({ file, n }) => ({ n, name: file.name, percent: 0, failure: null }))]);
    for (const { file, n } of mine) {
      try {
        await upload<Document>(`${of.path}documents`, file, (percent) => change(n, { percent }));
        drop(n);
        toast(t.documents.added(file.name));
      } catch (failed) {
        change(n, { failure: asFailure(failed) });
      }
      onAdded();
    }
  };
  useDrops((files) => void give(files), setOver);

  const addPage = async (event: Event) => {
    event.preventDefault();
    setWrong(null);
    try {
      const made = await of.ask<Document>("POST", "documents", { body: { url: url.trim() } });
      toast(t.documents.added(made.name));
      setUrl("");
      onAdded();
    } catch (failed) {
      setWrong(asFailure(failed));
    }
  };
  return (
    <section class="documents-adding">
      <div class={`documents-drop ${over ? "over" : ""}`}>
        <Icon name="upload" size={24} />
        <p>
          <strong>{t.documents.drop}</strong> {t.documents.dropOr}
        </p>
        <Button onClick={() => input.current?.click()}>{t.documents.choose}</Button>
        <p class="small quiet">{t.documents.formats}</p>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void give([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      <form class="documents-url" onSubmit={(event) => void addPage(event)}>
        <TextField label={t.documents.url} value={url} onInput={setUrl} placeholder={t.documents.urlHint} />
        <Button type="submit" disabled={url.trim() === ""}>
          {t.documents.add}
        </Button>
      </form>
      {wrong && <Trouble failure={wrong} />}
      {going.length > 0 && (
        <ul class="documents-going">
          {going.map((each) => (
            <li key={each.n}>
              {each.failure === null ? (
                <>
                  <span class="clip small">{each.name}</span>
                  <Progress percent={each.percent} label={t.documents.uploading(each.name)} />
                </>
              ) : (
                <>
                  <span class="small">{each.name}</span>
                  <Trouble failure={each.failure} />
                  <Button small onClick={() => drop(each.n)}>
                    {t.documents.dismiss}
                  </Button>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Files dropped anywhere on the page. */
function useDrops(onFiles: (files: File[]) => void, onOver: (over: boolean) => void): void {
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      onOver(true);
    };
    const out = (event: DragEvent) => event.relatedTarget === null && onOver(false);
    const dropped = (event: DragEvent) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      onOver(false);
      if (files.length === 0) return;
      event.preventDefault();
      latest.current(files);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", out);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", out);
      removeEventListener("drop", dropped);
    };
  }, []);
}
