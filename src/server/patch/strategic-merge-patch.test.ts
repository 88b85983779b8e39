import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { StatusError } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

const podSpec = builtInSchemas().byName('io.k8s.api.core.v1.PodSpec')!;
const deploymentSpec = builtInSchemas().byName('io.k8s.api.apps.v1.DeploymentSpec')!;
const metadata = builtInSchemas().byName('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')!;

const env = [
  { name: 'A', value: '1' },
  { name: 'B', value: '2' },
];
const one = { name: 'one', image: 'x:1', env };
const two = { name: 'two', image: 'y:1' };
const spec = { containers: [one, two] };
const finalizers = { finalizers: ['d', 'a', 'c'] };

describe('strategicMergePatch()', () => {
  it.each<[claim: string, object: JsonObject, patch: JsonObject, want: JsonObject, schema?: typeof podSpec]>([
    [
      'merges keyed elements, and lists in them',
      spec,
      {
        containers: [
          {
            name: 'one',
            image: 'x:2',
            env: [
              { name: 'B', value: 'n' },
              { name: 'C', value: '3' },
            ],
          },
        ],
      },
      {
        containers: [
          { name: 'one', image: 'x:2', env: [env[0]!, { name: 'B', value: 'n' }, { name: 'C', value: '3' }] },
          two,
        ],
      },
    ],
    [
      'puts new elements first',
      spec,
      { containers: [{ name: 'three' }] },
      { containers: [{ name: 'three' }, one, two] },
    ],
    [
      'replaces lists without a merge key',
      { containers: [{ name: 'c', args: ['a'] }] },
      { containers: [{ name: 'c', args: ['z'] }] },
      { containers: [{ name: 'c', args: ['z'] }] },
    ],
    [
      'removes what is null',
      spec,
      { containers: [{ name: 'one', env: null }] },
      { containers: [{ name: 'one', image: 'x:1' }, two] },
    ],
    ['removes an element', spec, { containers: [{ name: 'two', $patch: 'delete' }] }, { containers: [one] }],
    ['removes no element that is not there', spec, { containers: [{ name: 'none', $patch: 'delete' }] }, spec],
    [
      'replaces a list',
      spec,
      { containers: [{ name: 'only' }, { $patch: 'replace' }] },
      { containers: [{ name: 'only' }] },
    ],
    [
      'replaces a map',
      { nodeSelector: { a: '1' } },
      { nodeSelector: { $patch: 'replace', b: '2' } },
      { nodeSelector: { b: '2' } },
    ],
    ['empties a map', { nodeSelector: { a: '1' } }, { nodeSelector: { $patch: 'delete' } }, { nodeSelector: {} }],
    [
      'orders elements',
      spec,
      {
        '$setElementOrder/containers': [{ name: 'two' }, { name: 'one' }],
        containers: [{ name: 'one', image: 'x:3' }],
      },
      { containers: [two, { ...one, image: 'x:3' }] },
    ],
    [
      'places a new element',
      spec,
      {
        '$setElementOrder/containers': [{ name: 'new' }, { name: 'one' }, { name: 'two' }],
        containers: [{ name: 'new' }],
      },
      { containers: [{ name: 'new' }, one, two] },
    ],
    ['unites sets', finalizers, { finalizers: ['e'] }, { finalizers: ['e', 'd', 'a', 'c'] }, metadata],
    [
      'takes values out of a set',
      finalizers,
      { '$deleteFromPrimitiveList/finalizers': ['a'] },
      { finalizers: ['d', 'c'] },
      metadata,
    ],
    [
      'orders a set',
      { finalizers: ['a', 'c'] },
      { '$setElementOrder/finalizers': ['d', 'a', 'c'], finalizers: ['d'] },
      finalizers,
      metadata,
    ],
    [
      'retains keys',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
      { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
      deploymentSpec,
    ],
    [
      'takes a list that was not there without its directives',
      {},
      {
        containers: [
          { name: 'a', image: null },
          { name: 'b', $patch: 'delete' },
        ],
      },
      { containers: [{ name: 'a' }] },
    ],
  ])('%s', (_claim, object, patch, want, schema = podSpec) => {
    const before = JSON.stringify([object, patch]);
    expect(strategicMergePatch(object, patch, schema)).toEqual(want);
    expect(JSON.stringify([object, patch])).toBe(before);
  });

  it.each<[patch: JsonValue, code: number, message: string, schema?: typeof podSpec]>([
    [{ containers: [{ image: 'x:1' }] }, 500, 'map: map[image:x:1] does not contain declared merge key: name'],
    [{ '$setElementOrder/containers': 'one' }, 400, 'invalid patch format of setElementOrder list'],
    [{ '$deleteFromPrimitiveList/finalizers': 'a' }, 400, 'invalid patch format of primitive list', metadata],
    [{ nodeSelector: { $patch: 'foo' } }, 500, 'unknown patch type: foo in map: map[$patch:foo]'],
    [
      { '$setElementOrder/containers': [{ name: 'one' }], containers: [{ name: 'two', image: 'bad:1' }] },
      500,
      "The order in patch list:\n[map[image:bad:1 name:two]]\n doesn't match $setElementOrder list:\n[map[name:one]]\n",
    ],
    [
      { strategy: { $retainKeys: ['type'], type: 'Recreate', rollingUpdate: {} } },
      400,
      'invalid patch format of retainKeys',
      deploymentSpec,
    ],
    [[], 400, 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('refuses %j', (patch, code, message, schema = podSpec) => {
    const object = { ...spec, nodeSelector: { a: '1' }, strategy: { type: 'RollingUpdate' } };
    try {
      strategicMergePatch(object, patch, schema);
      expect.unreachable();
    } catch (err) {
      expect(err).toBeInstanceOf(StatusError);
      expect([(err as StatusError).code, (err as StatusError).message]).toEqual([code, message]);
    }
  });

  const named = (length: number, more: JsonObject = {}): JsonObject[] =>
    Array.from({ length }, (_, i) => ({ name: `n${i}`, ...more }));
  const keys = (length: number): JsonObject => Object.fromEntries(named(length).map(({ name }) => [String(name), 'v']));

  it.each<[what: string, make: (size: number) => { object: JsonObject; patch: JsonObject; schema?: typeof podSpec }]>([
    [
      'long lists of texts',
      (size) => {
        const many = named(size).map(({ name }) => name!);
        return { object: { finalizers: many }, patch: { finalizers: [...many].reverse() }, schema: metadata };
      },
    ],
    [
      'elements that are put in order',
      (size) => ({
        object: { containers: named(size, { image: 'a' }) },
        patch: {
          '$setElementOrder/containers': named(size).reverse(),
          containers: named(size, { image: 'b' }).reverse(),
        },
      }),
    ],
    [
      'elements that are deleted',
      (size) => ({ object: { containers: named(size) }, patch: { containers: named(size, { $patch: 'delete' }) } }),
    ],
    [
      'keys that are retained',
      (size) => ({
        object: { nodeSelector: keys(size) },
        patch: { nodeSelector: { ...keys(size), $retainKeys: Object.keys(keys(size)) } },
      }),
    ],
    [
      'changes to one and the same large element',
      (size) => ({
        object: { containers: [{ name: 'n', ...keys(size) }] },
        patch: { containers: named(size).map((_, i) => ({ name: 'n', image: `i${i}` })) },
      }),
    ],
  ])('takes time in proportion to %s', async (_what, make) => {
    const run = ({ object, patch, schema = podSpec }: ReturnType<typeof make>) =>
      strategicMergePatch(object, patch, schema);
    await expectLinear('strategicMergePatch()', { make, run, from: 1_000, limit: 4_000 });
  });

  it('refuses a patch that merges one and the same long list without end', () => {
    const object = { containers: [{ name: 'n', env: named(2_000, { value: 'v' }) }] };
    const patch = { containers: named(2_000).map((_, i) => ({ name: 'n', env: [{ name: 'n0', value: `${i}` }] })) };
    expect(() => strategicMergePatch(object, patch, podSpec)).toThrow(
      expect.objectContaining({ code: 413, message: 'Cannot apply the patch: it merges too much' }),
    );
  });
});
