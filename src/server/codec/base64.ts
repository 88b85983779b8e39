/** Base64 as Go's strict standard decoder takes it: padding required, line ends ignored, nothing else forgiven. */
const clean = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export class Base64Error extends Error {
  override readonly name = 'Base64Error';
}

/** The text in its one normal form. Bytes beyond the last whole one are dropped, as Go drops them. */
export function normalBase64(text: string): string {
  const compact = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (!clean.test(compact)) throw new Base64Error(`illegal base64 data at input byte ${faultOf(text)}`);
  if (!compact.endsWith('=')) return compact;
  return Buffer.from(compact, 'base64').toString('base64');
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
