/** What is missing is exactly what spelling out every combination finds missing. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PolicyRule } from './policy-rule.ts';
import { missingFrom, missingFromInTurns } from './rule-cover.ts';

const some = (...words: string[]) => fc.uniqueArray(fc.constantFrom(...words), { minLength: 1, maxLength: 3 });
const onResources = fc.record(
  {
    verbs: some('get', 'list', 'watch', '*'),
    apiGroups: some('', 'apps', 'batch', '*'),
    resources: some('pods', 'jobs', 'pods/log', 'jobs/log', '*/log', '*'),
    resourceNames: some('a', 'b', ''),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
);
const onPaths = fc.record({
  verbs: some('get', 'post', '*'),
  nonResourceURLs: some('/api', '/api/*', '/api*', '/healthz', '*'),
});
const rules = fc.array(fc.oneof({ weight: 4, arbitrary: onResources }, { weight: 1, arbitrary: onPaths }), {
  maxLength: 6,
});

const show = (pieces: readonly PolicyRule[]) =>
  [...new Set(pieces.map((piece) => JSON.stringify(sorted(piece))))].sort();
const sorted = (piece: PolicyRule) => Object.entries(piece).sort(([a], [b]) => (a < b ? -1 : 1));

it('missingFrom() finds what spelling everything out finds', () => {
  fc.assert(
    fc.property(rules, rules, (held, wanted) => {
      const pieces = (wanted as PolicyRule[]).flatMap(spellOut);
      const missing = pieces.filter((piece) => !(held as PolicyRule[]).some((rule) => covers(rule, piece)));
      expect(show(missingFrom(held, wanted))).toEqual(show(missing));
    }),
    { numRuns: 2000 },
  );
});

it('missingFromInTurns() says the same', async () => {
  await fc.assert(
    fc.asyncProperty(rules, rules, async (held, wanted) => {
      expect(await missingFromInTurns(held, wanted)).toEqual({ pieces: missingFrom(held, wanted), isCut: false });
    }),
  );
});

function spellOut({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames,
  nonResourceURLs = [],
}: PolicyRule): PolicyRule[] {
  return verbs.flatMap((verb) => [
    ...nonResourceURLs.map((url) => ({ verbs: [verb], nonResourceURLs: [url] })),
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        (resourceNames ?? [undefined]).map((name) => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          ...(name !== undefined && { resourceNames: [name] }),
        })),
      ),
    ),
  ]);
}

function covers(rule: PolicyRule, piece: PolicyRule): boolean {
  const gives = (list: readonly string[] = [], word: string) => list.includes(word) || list.includes('*');
  const url = piece.nonResourceURLs?.[0];
  if (!gives(rule.verbs, piece.verbs[0]!)) return false;
  if (url !== undefined)
    return (rule.nonResourceURLs ?? []).some((one) =>
      one.endsWith('*') ? url.startsWith(one.slice(0, -1)) : one === url,
    );
  const resource = piece.resources![0]!;
  const slash = resource.indexOf('/');
  const part = slash < 0 ? [] : [`*${resource.slice(slash)}`];
  const name = piece.resourceNames?.[0];
  return (
    gives(rule.apiGroups, piece.apiGroups![0]!) &&
    [resource, ...part, '*'].some((one) => (rule.resources ?? []).includes(one)) &&
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  );
}
