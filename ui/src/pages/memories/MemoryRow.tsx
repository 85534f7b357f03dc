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
  const said = row.kind === "message";
  return (
    <div class={`memory-row ${row.old ? "old" : ""} ${chosen ? "chosen" : ""}`}>
      {onChoose && !said && (
        <input type="checkbox" checked={chosen} aria-label={t.memories.selectOne(row.text)} onClick={(event) => event.stopPropagation()} onInput={() => onChoose(row.id)} />
      )}
      <a class="memory-row-text" href={here("memories", [row.id], query)} tabIndex={-1} onClick={(event) => event.preventDefault()}>
        {row.text}
      </a>
      <span class="memory-row-meta">
        <Tag look={said ? "line" : undefined}>{said ? (row.role ?? row.kind) : row.kind}</Tag>
        {row.key !== null && <code class="clip">{row.key}</code>}
        {row.pinned && <Icon name="pin" size={13} />}
        {row.old && <span>{row.retired ? t.memories.markedAsWrong : t.memories.superseded}</span>}
        {row.channels && <span class="clip">{row.channels.map((name) => t.channels[name] ?? name).join(" · ")}</span>}
        <span class="memory-row-when">{row.dated ? ago(row.at) : t.memories.written(ago(row.at))}</span>
      </span>
    </div>
  );
}
