/** One memory in the list: what it says, and the little that tells it from its neighbours. */
import { here } from "../../core/route";
import { ago } from "../../core/when";
import { Icon } from "../../parts/Icon";
import { Tag } from "../../parts/Tag";
import { t } from "../../strings";
import type { Row } from "./listing";

interface MemoryRowProps {
  row: Row;
  query: Record<string, string>;
  chosen: boolean;
  onChoose?: (id: string) => void;
}

export function MemoryRow({ row, query, chosen, onChoose }: MemoryRowProps) {
  const isHit = "channels" in row;
  const old = "superseded_by" in row && row.superseded_by !== null;
  return (
    <div class={`memory-row ${old ? "old" : ""} ${chosen ? "chosen" : ""}`}>
      {onChoose && row.kind !== "message" && (
        <input type="checkbox" checked={chosen} aria-label={t.memories.selectOne(row.summary || row.content)} onClick={(event) => event.stopPropagation()} onInput={() => onChoose(row.id)} />
      )}
      <a class="memory-row-text" href={here("memories", [row.id], query)} tabIndex={-1} onClick={(event) => event.preventDefault()}>
        {row.summary || row.content}
      </a>
      <span class="memory-row-meta">
        <Tag look={isHit && row.kind === "message" ? "line" : undefined}>{row.kind === "message" ? (("role" in row && row.role) || row.kind) : row.kind}</Tag>
        {row.key !== null && <code class="clip">{row.key}</code>}
        {row.metadata.pinned === true && <Icon name="pin" size={13} />}
        {old && <span>{t.memories.superseded}</span>}
        {isHit && <span class="clip">{Object.keys(row.channels).map((name) => t.channels[name] ?? name).join(" · ")}</span>}
        <span class="memory-row-when">{ago(row.created_at)}</span>
      </span>
    </div>
  );
}
