/** Shows a new token once: to copy, as a QR code, and with instructions for clients. */
import { useMemo, useState } from "preact/hooks";
import { encode } from "uqr";
import { root } from "../../core/api";
import type { Credential } from "../../core/types";
import { Dialog } from "../../parts/Dialog";
import { Snippet } from "../../parts/Snippet";
import { t } from "../../strings";

const w = t.admin.shownOnce;

export interface Issued {
  credential: Credential;
  token: string;
}

export function NewToken({ issued, onClose }: { issued: Issued; onClose: () => void }) {
  const { credential, token } = issued;
  const url = credential.kind === "url";
  const secret = url ? `${root}s/${token}` : token;
  const snippets = url ? w.forUrl(secret) : w.forKey(root, token, credential.namespace ?? "app", credential.profile ?? "ana");
  const [at, setAt] = useState(0);
  return (
    <Dialog title={w.title(credential.name)} onClose={onClose} wide>
      <p>{w.once}</p>
      <div class="shown-once">
        <Snippet code={secret} wrap />
        <QrCode text={secret} />
      </div>
      <div class="tabs" role="group" aria-label={w.clients}>
        {snippets.map(([name], n) => (
          <button key={name} type="button" class="tab" aria-pressed={n === at} onClick={() => setAt(n)}>
            {name}
          </button>
        ))}
      </div>
      <Snippet code={snippets[at]![1]} />
    </Dialog>
  );
}

function QrCode({ text }: { text: string }) {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { ecc: "M", border: 2 });
    const cells = data.flatMap((row, y) => row.flatMap((on, x) => (on ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size, path: cells.join("") };
  }, [text]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={w.qr} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#111" />
    </svg>
  );
}
