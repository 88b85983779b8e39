/** Splits what stands in the request line into a decoded path and the query, or says that it is no path at all. */

export type RequestUrl = { readonly path: string; readonly queryText: string };

/** Undefined: not a path, or percent signs that stand for nothing. The answer is then 400, before any other check. */
export function parseRequestUrl(url: string): RequestUrl | undefined {
  let start = 0;
  if (url.charCodeAt(0) !== 0x2f) {
    const origin = /^https?:\/\/[^/?#]*/i.exec(url); // the absolute form, as proxies send it
    if (!origin) return undefined;
    start = origin[0].length;
  }
  const mark = url.indexOf('?', start);
  const raw = mark === -1 ? url.slice(start) : url.slice(start, mark);
  const queryText = mark === -1 ? '' : url.slice(mark + 1);
  if (raw === '') return { path: '/', queryText };
  if (!raw.includes('%')) return { path: raw, queryText };
  try {
    return { path: decodeURIComponent(raw), queryText };
  } catch {
    return undefined;
  }
}
