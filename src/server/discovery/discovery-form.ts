/** Which form of a discovery document an Accept header asks for. */

export const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
export const jsonType = 'application/json';

type Clause = { readonly type: string; readonly quality: number; readonly parameters: ReadonlyMap<string, string> };

/**
 * The first acceptable clause wins, in order of `q`, then exact types before wildcards, then the one with more
 * parameters: a client that names the new form gets it, wherever in the header it stands. Undefined: nothing fits.
 */
export function chooseForm(accept: string | undefined, hasAggregated: boolean): 'legacy' | 'aggregated' | undefined {
  if (accept === undefined || accept.trim() === '') return 'legacy';
  const clauses = accept.split(',').map(parseClause);
  clauses.sort((a, b) => b.quality - a.quality || stars(a) - stars(b) || b.parameters.size - a.parameters.size);
  for (const { type, parameters, quality } of clauses) {
    if (quality === 0 || (type !== '*/*' && type !== 'application/*' && type !== jsonType)) continue;
    if (!parameters.has('as')) return 'legacy';
    const isKnown =
      parameters.get('as') === 'APIGroupDiscoveryList' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2';
    if (isKnown && hasAggregated) return 'aggregated';
  }
  return undefined;
}

function parseClause(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [name = '', value = ''] = part.split('=', 2);
    parameters.set(name.trim().toLowerCase(), value.trim());
  }
  const quality = Number(parameters.get('q') ?? 1);
  parameters.delete('q');
  return { type: type.toLowerCase(), quality: Number.isNaN(quality) ? 1 : quality, parameters };
}

function stars({ type }: Clause): number {
  return type.split('*').length - 1;
}
