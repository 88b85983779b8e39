/** Base64 as Go's strict standard decoder takes it: padding required, line ends ignored, nothing else forgiven. */
const odd = /[^A-Za-z0-9+/]/;

export class Base64Error extends Error {
  override readonly name = 'Base64Error';
}

/** The text in its one normal form. Bytes beyond the last whole one are dropped, as Go drops them. */
export function normalBase64(text: string): string {
  const compact = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (!isClean(compact)) throw new Base64Error(`illegal base64 data at input byte ${faultOf(text)}`);
  if (!compact.endsWith('=')) return compact;
  return Buffer.from(compact, 'base64').toString('base64');
}

/** Looked for from the first odd character on: a pattern for the whole would keep a way back for every four characters. */
function isClean(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const end = text.search(odd);
  if (end < 0) return true;
  const padding = text.slice(end, end + 3);
  return end + padding.length === text.length && (padding === '=' || padding === '==');
}

function faultOf(text: string): number {
  let taken = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === '\r' || char === '\n') continue;
    if (char === '=') {
      if (taken % 4 < 2) return i;
      const rest = text.slice(i).replace(/[\r\n]/g, '');
      const wanted = taken % 4 === 2 ? '==' : '=';
      return rest.startsWith(wanted) ? i + wanted.length : i + 1;
    }
    if (!/[A-Za-z0-9+/]/.test(char)) return i;
    taken++;
  }
  return text.length - (taken % 4);
}
