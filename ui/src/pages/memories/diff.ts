/** What changed between two texts, word by word: the longest common subsequence of their words. */
export type Piece = { text: string; change: "same" | "gone" | "new" };

const MOST = 1500;

export function difference(before: string, after: string): Piece[] {
  const [a, b] = [words(before), words(after)];
  if (a.length > MOST || b.length > MOST) return [{ text: before, change: "gone" }, { text: after, change: "new" }];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const pieces: Piece[] = [];
  const put = (text: string, change: Piece["change"]) => {
    const last = pieces.at(-1);
    if (last?.change === change) last.text += text;
    else pieces.push({ text, change });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put(a[i]!, "same");
      i++;
      j++;
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      put(a[i++]!, "gone");
    } else {
      put(b[j++]!, "new");
    }
  }
  return pieces;
}

/** Words with the space after them, so that joining them gives the text back. */
function words(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
