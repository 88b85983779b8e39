/** Small pieces of HTTP as text: paths with their query, warnings. */
import type { Query } from './transport-options.ts';

export function pathWithQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) for (const one of value) search.append(name, one);
    else search.append(name, String(value));
  }
  return search.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${search}`;
}

/** The texts of `299 - "text"`, as API servers write warnings: several in one header, or a header each. */
export function warningsIn(header: string | string[] | undefined): string[] {
  const texts: string[] = [];
  for (const line of typeof header === 'string' ? [header] : (header ?? []))
    for (const [, text = ''] of line.matchAll(/\b\d{3} \S+ "((?:[^"\\]|\\.)*)"/g))
      texts.push(text.replace(/\\(.)/g, '$1'));
  return texts;
}
