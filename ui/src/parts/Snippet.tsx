/** Code to be used elsewhere, with a button that copies it. */
import { useState } from "preact/hooks";
import { t } from "../strings";
import { Button } from "./Button";

export function Snippet({ code, wrap }: { code: string; wrap?: boolean }) {
  return (
    <div class={`snippet ${wrap ? "wrap" : ""}`}>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
      <CopyButton text={code} />
    </div>
  );
}

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <Button small look="plain" icon={copied ? "check" : "copy"} label={copied ? t.copied : t.copy} onClick={copy} />;
}

/** Also on plain HTTP from another machine, where browsers lend no clipboard. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error(t.copyFailed);
}
