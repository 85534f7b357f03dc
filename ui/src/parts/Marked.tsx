/** Text with some of its passages or words marked. */

interface Piece {
  text: string;
  /** Which of the passages it is; null for what lies between. */
  of: number | null;
}

/** The text cut where the passages stand; one that is not in it is left out. */
export function cut(text: string, passages: string[]): Piece[] {
  const found = passages
    .map((passage, of) => ({ of, at: passage === "" ? -1 : text.indexOf(passage), size: passage.length }))
    .filter((each) => each.at >= 0)
    .sort((a, b) => a.at - b.at);
  const pieces: Piece[] = [];
  let end = 0;
  for (const { of, at, size } of found) {
    if (at < end) continue;
    if (at > end) pieces.push({ text: text.slice(end, at), of: null });
    pieces.push({ text: text.slice(at, at + size), of });
    end = at + size;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), of: null });
  return pieces;
}

export function Marked({ text, passage }: { text: string; passage: string }) {
  return <>{cut(text, [passage]).map((piece, n) => (piece.of === null ? piece.text : <mark key={n}>{piece.text}</mark>))}</>;
}

const LEAST = 3;
/** Words of questions that mark nothing. */
const COMMON = new Set("the and are was for did does has had have what when where which who whom whose why how you your with this that from about".split(" "));

/** Text with the words of a question marked, wherever they begin a word of it. */
export function MarkedWords({ text, question }: { text: string; question: string }) {
  const words = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].filter((word) => word.length >= LEAST && !COMMON.has(word));
  if (words.length === 0) return <>{text}</>;
  const stems = words.map((word) => (word.length > 5 ? word.slice(0, -2) : word));
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.join("|")})[\\p{L}\\p{N}]*)`, "giu"));
  return <>{parts.map((part, n) => (n % 2 === 1 ? <mark key={n}>{part}</mark> : part))}</>;
}
