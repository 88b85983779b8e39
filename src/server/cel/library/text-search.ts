/**
 * Looking for one text in another, in time in proportion to both: what the engine of JavaScript does with long texts
 * that repeat themselves takes the product of their lengths. Also places in texts as CEL counts them: by characters,
 * not by halves of pairs.
 */

/** Up to here the engine's own search is as good as any. */
const SHORT = 8;

/** Where `part` is found at or after `from`, -1 if nowhere. */
export function indexOfText(text: string, part: string, from = 0): number {
  if (part.length <= SHORT) return text.indexOf(part, from);
  return search(text, part, from, 1);
}

/** Where `part` is found at or before `from`, looking backwards. */
export function lastIndexOfText(text: string, part: string, from: number = Infinity): number {
  if (part.length <= SHORT) return text.lastIndexOf(part, from);
  return search(text, part, Math.min(from, text.length - part.length) + part.length - 1, -1);
}

/** Knuth, Morris and Pratt's, in either direction. */
function search(text: string, part: string, from: number, step: 1 | -1): number {
  const length = part.length;
  const at = (index: number) => part.charCodeAt(step === 1 ? index : length - 1 - index);
  const borders = new Int32Array(length);
  for (let i = 1, border = 0; i < length; i++) {
    while (border > 0 && at(i) !== at(border)) border = borders[border - 1]!;
    if (at(i) === at(border)) border++;
    borders[i] = border;
  }
  for (let i = from, matched = 0; i >= 0 && i < text.length; i += step) {
    const code = text.charCodeAt(i);
    while (matched > 0 && code !== at(matched)) matched = borders[matched - 1]!;
    if (code === at(matched)) matched++;
    if (matched === length) return step === 1 ? i - length + 1 : i;
  }
  return -1;
}

/** At most `limit` parts between the separators; an empty separator is between all characters. */
export function splitText(text: string, separator: string, limit: number = Infinity): string[] {
  if (separator === '') {
    const parts = [...text];
    if (parts.length <= limit) return parts;
    return [...parts.slice(0, limit - 1), parts.slice(limit - 1).join('')];
  }
  const parts: string[] = [];
  let from = 0;
  while (parts.length + 1 < limit) {
    const at = indexOfText(text, separator, from);
    if (at < 0) break;
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

const HALF = /[\ud800-\udfff]/;

export function hasPairs(text: string): boolean {
  return HALF.test(text);
}

/** How many characters a text has. */
export function countCharacters(text: string): number {
  if (!HALF.test(text)) return text.length;
  let count = text.length;
  for (let i = 0; i < text.length; i++) if (text.codePointAt(i)! > 0xffff) count--;
  return count;
}

/** The place of the character with that number, the end for the one after the last; undefined beyond it. */
export function placeOf(text: string, character: bigint): number | undefined {
  if (character < 0n || character > BigInt(text.length)) return undefined;
  const wanted = Number(character);
  if (!HALF.test(text)) return wanted;
  let place = 0;
  for (let count = 0; count < wanted; count++) {
    if (place >= text.length) return undefined;
    place += text.codePointAt(place)! > 0xffff ? 2 : 1;
  }
  return place;
}

/** The number of the character at a place; -1 stays -1. */
export function characterAt(text: string, place: number): bigint {
  return BigInt(place < 0 ? place : countCharacters(text.slice(0, place)));
}
