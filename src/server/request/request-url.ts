/**
 * Splits what stands in the request line into a decoded path and the query, or says what is wrong with it. Both are
 * bounded here, before anybody looks into them: a path in bytes, a query in parameters (its bytes count to the head).
 */

export type RequestUrl = { readonly path: string; readonly queryText: string };

/** The answer is then this, as text, before any other check. */
export type UrlFault = { readonly status: 400 | 414; readonly text: string };

/** No path of the API comes near it. */
const MAX_PATH_BYTES = 16 * 1024;
/** As many as Go's own parser takes. */
const MAX_PARAMETERS = 10_000;

const MALFORMED: UrlFault = { status: 400, text: '400 Bad Request' };
const TOO_LONG: UrlFault = { status: 414, text: '414 URI Too Long' };
const TOO_MANY: UrlFault = { status: 400, text: '400 Bad Request: too many query parameters' };

export function parseRequestUrl(url: string): RequestUrl | UrlFault {
  let start = 0;
  if (url.charCodeAt(0) !== 0x2f) {
    const origin = /^https?:\/\/[^/?#]*/i.exec(url); // the absolute form, as proxies send it
    if (!origin) return MALFORMED;
    start = origin[0].length;
  }
  const mark = url.indexOf('?', start);
  const raw = mark === -1 ? url.slice(start) : url.slice(start, mark);
  const queryText = mark === -1 ? '' : url.slice(mark + 1);
  if (raw.length > MAX_PATH_BYTES) return TOO_LONG;
  if (hasTooManyParameters(queryText)) return TOO_MANY;
  if (raw === '') return { path: '/', queryText };
  if (!raw.includes('%')) return { path: raw, queryText };
  try {
    return { path: decodeURIComponent(raw), queryText };
  } catch {
    return MALFORMED;
  }
}

function hasTooManyParameters(queryText: string): boolean {
  if (queryText.length < MAX_PARAMETERS) return false;
  let count = 1;
  for (let at = queryText.indexOf('&'); at !== -1; at = queryText.indexOf('&', at + 1))
    if (++count > MAX_PARAMETERS) return true;
  return false;
}
