/** `longwatch generate types`: from a file and from a cluster, to a module that the compiler and the formatter take. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { expect, expectTypeOf, it } from 'vitest';
import { generateVerb } from '../../../src/cli/commands/generate/generate-command.ts';
import { type CrdInput, generateTypes } from '../../../src/cli/commands/generate/generate-types.ts';
import { issueText } from '../../../src/client/objects/standard-schema.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { runToEnd } from '../../support/cli/test-io.ts';
import type { Gadget } from '../../support/client/generated/gadgets.ts';
import * as odd from '../../support/client/generated/odd.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const path = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const file = path('test/support/client/gadgets-crd.yaml');
const output = path('test/support/client/generated/gadgets.ts');
const oddFile = path('test/support/client/odd-crds.yaml');
const oddOutput = path('test/support/client/generated/odd.ts');
const definition = load(readFileSync(file, 'utf8')) as CrdInput;

// The check of the tree compiles, formats and lints the file: nothing but the header says that nobody wrote it.
it('generate types: what it wrote is up to date, and has the types that the schema says', async () => {
  const { code, err } = await runToEnd(generateVerb({ file: [file], output, check: true }));
  expect(err).toBe(`${output} is up to date\n`);
  expect(code).toBe(0);
  expectTypeOf<Gadget['spec']['mode']>().toEqualTypeOf<'Fast' | 'Slow' | "don't">();
  expectTypeOf<Gadget['spec']['replicas']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Gadget['status']>().not.toBeAny();
});

// Compiled, formatted and linted as the other one.
it('generate types: names that mean something else, odd fields and deprecated versions are written so that they compile', async () => {
  const { code, err } = await runToEnd(generateVerb({ file: [oddFile], output: oddOutput, check: true }));
  expect([code, err]).toEqual([0, `${oddOutput} is up to date\n`]);
  const text = readFileSync(oddOutput, 'utf8');
  expect(text).toContain('/** @deprecated odd.ex.io/v1 Record goes *\\/ soon, use v2 */\nexport interface RecordV1 ');
  expect(text).toContain('/** @deprecated odd.ex.io/v1alpha1 Record is deprecated */\nexport const recordsV1alpha1');
  expect(odd.records).toMatchObject({ kind: 'Record', plural: 'records', version: 'v2' });
  expect([odd.recordsV1, odd.recordsV1alpha1].map(({ version }) => version)).toEqual(['v1', 'v1alpha1']);
  expect(odd.defaultResource).toMatchObject({ kind: 'default', plural: 'default' });
  expect([odd.thingS, odd.things].map(({ kind, plural }) => [kind, plural])).toEqual([
    ['Thing-Request', 'thing-s'],
    ['Thing', 'things'],
  ]);
  expectTypeOf<odd.Thing['request']>().toEqualTypeOf<odd.ThingRequest2 | undefined>();
  expectTypeOf<odd.ThingSpec['port']>().toEqualTypeOf<number | string | null | undefined>();
  expectTypeOf<odd.ThingSpec['grid']>().toEqualTypeOf<
    Record<string, Record<string, odd.ThingSpecGrid[]>> | undefined
  >();
  expectTypeOf<odd.ThingSpecPodTemplate>().toEqualTypeOf<{
    apiVersion: string;
    kind: string;
    spec?: Record<string, unknown>;
  }>();
  expectTypeOf<odd.RecordObject['anything']>().toEqualTypeOf<unknown>();
});

it('generate types: the validator knows a field of any name', async () => {
  const judge = async (spec: object) => (await odd.things.validate!['~standard'].validate(spec)).issues?.map(issueText);
  const good = { '1st': 1, issuerRef: { name: 'a', ca: {} } };
  expect(await judge(good)).toBeUndefined();
  expect(await judge(JSON.parse(`{"__proto__":"long","1st":1,"issuerRef":{"name":"a","ca":{}}}`))).toEqual([
    '__proto__: must have at most 3 characters',
  ]);
  expect(await judge({ '1st': 2, issuerRef: { name: 'none', acme: {}, ca: {} }, port: true })).toEqual([
    '1st: must be one of 1, -2, 3',
    'issuerRef: must fit exactly one of the shapes of oneOf',
    'issuerRef: must not fit the shape of not',
    'port: must be an integer or string',
  ]);
});

it('generate types --check: a file that would change is found, and left', async () => {
  await using dir = await temporaryDir();
  const stale = join(dir.path, 'stale.ts');
  writeFileSync(stale, '// old\n');
  const { code, err } = await runToEnd(generateVerb({ file: [file], output: stale, check: true }));
  expect([code, err.split('\n')[0]]).toEqual([3, `${stale} is out of date`]);
  expect(readFileSync(stale, 'utf8')).toBe('// old\n');
});

it('generate types --from-cluster: the same text as from the file', async () => {
  await using server = await startTestServer();
  await server.client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition as never);
  const flags = { fromCluster: true, kubeconfig: server.kubeconfigPath };
  expect((await runToEnd(generateVerb({ ...flags, group: ['tools.ex.io'] }))).out).toBe(readFileSync(output, 'utf8'));
  const { code, err } = await runToEnd(generateVerb({ ...flags, group: ['other.ex.io'] }));
  expect([code, err]).toEqual([
    1,
    'longwatch: Cannot generate types: no definition is of group other.ex.io\n  There are: tools.ex.io.\n',
  ]);
});

it('generateTypes() refuses two kinds of one name, and gives two plurals of one name two tokens', () => {
  const of = (group: string, kind: string): CrdInput => ({
    ...definition,
    spec: { ...definition.spec, group, names: { ...definition.spec.names, kind } },
  });
  expect(() => generateTypes([of('b.ex.io', 'Gadget'), of('a.ex.io', 'Gadget')])).toThrow(
    'Cannot generate types: "Gadget" would be both gadgets.a.ex.io and gadgets.b.ex.io',
  );
  const text = generateTypes([of('b.ex.io', 'Gizmo'), of('a.ex.io', 'Gadget')]);
  expect(text.match(/export const \w+: Resource<\w+>/g)).toEqual([
    'export const gadgets: Resource<Gadget>',
    'export const gadgetsV1beta1: Resource<GadgetV1beta1>',
    'export const gadgetsResource: Resource<Gizmo>',
    'export const gadgetsV1beta1Resource: Resource<GizmoV1beta1>',
  ]);
});

it('generateTypes() gives two fields whose names would be one two types', () => {
  const inner = { type: 'object', properties: { x: { type: 'string' } } };
  const spec = { type: 'object', properties: { aB: inner, a: { type: 'object', properties: { b: inner } } } };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  };
  const text = generateTypes([{ ...definition, spec: { ...definition.spec, versions: [version] } } as CrdInput]);
  expect(text).toContain('interface GadgetSpecAB {');
  expect(text).toContain('interface GadgetSpecAB2 {');
});
