/**
 * What changed between two texts, line by line, as a unified diff with three lines of context and no file names.
 *
 * Quadratic in what lies between the first and the last difference, which is why more than `limitLines` of that are
 * told as replaced in one piece.
 */
const contextLines = 3;
const limitLines = 1000;

type Edit = { readonly sign: ' ' | '-' | '+'; readonly line: string };

/** Every line of the answer, the last one too, ends in a line feed; `''` if nothing changed. */
export function lineDiff(before: string, after: string): string {
  const edits = editsBetween(before.split('\n'), after.split('\n'));
  let text = '';
  let at = 0;
  for (;;) {
    const first = edits.findIndex((edit, index) => index >= at && edit.sign !== ' ');
    if (first < 0) return text;
    const start = Math.max(first - contextLines, at);
    const end = hunkEnd(edits, first);
    text += hunk(edits, start, end);
    at = end;
  }
}

/** Changes that are less than two contexts apart share a hunk. */
function hunkEnd(edits: readonly Edit[], first: number): number {
  let last = first;
  for (let index = first; index < edits.length && index - last <= 2 * contextLines; index++) {
    if (edits[index]!.sign !== ' ') last = index;
  }
  return Math.min(last + 1 + contextLines, edits.length);
}

function hunk(edits: readonly Edit[], start: number, end: number): string {
  const shown = edits.slice(start, end);
  const count = (list: readonly Edit[], sign: '-' | '+') => list.filter((edit) => edit.sign !== sign).length;
  const range = (sign: '-' | '+') => {
    const length = count(shown, sign);
    const from = count(edits.slice(0, start), sign) + (length === 0 ? 0 : 1);
    return length === 1 ? `${from}` : `${from},${length}`;
  };
  return `@@ -${range('+')} +${range('-')} @@\n${shown.map(({ sign, line }) => `${sign}${line}\n`).join('')}`;
}

function editsBetween(before: readonly string[], after: readonly string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++;
  const same = (lines: readonly string[]) => lines.map((line): Edit => ({ sign: ' ', line }));
  return [
    ...same(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Edit[] {
  const remove = (line: string): Edit => ({ sign: '-', line });
  const add = (line: string): Edit => ({ sign: '+', line });
  if (before.length + after.length > limitLines) return [...before.map(remove), ...after.map(add)];
  // common[i][j]: how many lines before[i..] and after[j..] have in common, in order.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const isSame = before[i] === after[j];
      common[i]![j] = isSame ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const edits: Edit[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      edits.push({ sign: ' ', line: before[i]! });
      i++;
      j++;
    } else if (common[i + 1]![j]! >= common[i]![j + 1]!) edits.push(remove(before[i++]!));
    else edits.push(add(after[j++]!));
  }
  return [...edits, ...before.slice(i).map(remove), ...after.slice(j).map(add)];
}
