/**
 * Steps over the text of JSON without decoding it. The text is taken to be JSON; of what is not, a place may come out
 * that means nothing, but no step goes on for ever.
 */
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN = 123;
const CLOSE = 125;

/** Instead of a place, where there is none, or where spaces or escapes make it hard to tell. */
export const ODD = -1;

/** The closing quote of the key that begins at `at`, if a colon follows. A key with an escape may spell any other. */
export function endOfKey(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return ODD;
  for (let end = at + 1; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return text.charCodeAt(end + 1) === COLON ? end : ODD;
    if (code === BACKSLASH) return ODD;
  }
  return ODD;
}

/** `end` is its closing quote. */
export function isKey(text: string, at: number, end: number, key: string): boolean {
  return end - at - 1 === key.length && text.startsWith(key, at + 1);
}

/** The place after the value that begins at `at`. */
export function endOfValue(text: string, at: number): number {
  let depth = 0;
  for (let next = at; next < text.length; next++) {
    switch (text.charCodeAt(next)) {
      case QUOTE:
        next = endOfString(text, next);
        if (depth === 0) return next + 1;
        break;
      case OPEN:
      case OPEN_LIST:
        depth++;
        break;
      case CLOSE:
      case CLOSE_LIST:
        if (depth === 0) return next; // of what a number or a literal was in
        if (--depth === 0) return next + 1;
        break;
      case COMMA:
        if (depth === 0) return next;
        break;
    }
  }
  return ODD;
}

/** Without its quotes; undefined if it is no string, or has an escape. */
export function plainString(text: string, at: number, end: number): string | undefined {
  if (text.charCodeAt(at) !== QUOTE) return undefined;
  const content = text.slice(at + 1, end - 1);
  return content.includes('\\') ? undefined : content;
}

/** The closing quote of the string that begins at `at`, or the end of the text. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) break;
    if (code === BACKSLASH) end++; // whatever follows it is no end
  }
  return end;
}

/** `latin1` of what is all ASCII: the same text, at a third of the cost. */
export type TextEncoding = 'latin1' | 'utf8';

/** Stands in the text for what was cut out of it: where it comes out tells what it belonged to. */
export type Mark = { readonly value: string; readonly text: string };

/** No server can know it. */
export function makeMark(): Mark {
  const value = `put off ${Math.random()}`;
  return { value, text: JSON.stringify(value) };
}

/** Undefined if it is not JSON, or neither a list nor an object. */
export function parsedOrNothing(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
