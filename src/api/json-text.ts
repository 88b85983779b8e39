/**
 * Values as JSON text, integers beyond 2^53 included, and texts that are short enough to be shown to somebody.
 *
 * `jsonText` is JSON.stringify for all that has no bigint in it, at its speed. `cutText` is for whatever a client sent and
 * is told back: what one sends is not to come back many times over, so texts in answers have a length, in bytes.
 */

/** As JSON.stringify writes it, with bigints as plain integers. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (err) {
    if (!(err instanceof TypeError)) throw err;
    return exactText(value, indent === 0 ? '' : '\n', ' '.repeat(indent))!;
  }
}

/** JSON.stringify refuses the whole value when there is one bigint in it: then everything is put together here. */
function exactText(value: unknown, lineEnd: string, step: string): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || hasOwnForm(value)) return JSON.stringify(value);
  const inner = lineEnd + step;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) parts.push(exactText(item, inner, step) ?? 'null');
    return joined('[', parts, ']', lineEnd, inner);
  }
  const space = step === '' ? '' : ' ';
  for (const [key, member] of Object.entries(value)) {
    const text = exactText(member, inner, step);
    if (text !== undefined) parts.push(`${JSON.stringify(key)}:${space}${text}`);
  }
  return joined('{', parts, '}', lineEnd, inner);
}

function joined(open: string, parts: readonly string[], close: string, lineEnd: string, inner: string): string {
  return parts.length === 0 ? open + close : `${open}${inner}${parts.join(`,${inner}`)}${lineEnd}${close}`;
}

function hasOwnForm(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

const CUT_MARK = '...';

/** The text, or its beginning and three dots: at most `limitBytes` bytes of UTF-8 in all. */
export function cutText(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes) return text; // no unit of UTF-16 takes more than three
  const room = limitBytes - CUT_MARK.length;
  let bytes = 0;
  let end = 0; // how much of the text fits beside the mark
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isPair = code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : isPair ? 4 : 3;
    if (isPair) i++;
    if (bytes <= room) end = i + 1;
    if (bytes > limitBytes) return `${text.slice(0, end)}${CUT_MARK}`;
  }
  return text;
}
