/** Custom kinds from schemas of libraries, installed on a real server, whose rules have the last word. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import fc from 'fast-check';
import { Type } from 'typebox';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type CrdDefinition,
  CrdError,
  type CrdOptions,
  defineCrd,
  fromJsonSchema,
  installCrd,
} from '../../../src/client/crd.ts';
import { apiextensionsv1, InvalidObjectError, type KubeClient } from '../../../src/client/index.ts';
import { checkCrd, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';
import { gadgets, gadgetsV1beta1 } from '../../support/client/generated/gadgets.ts';

let server: TestServer;
let client: KubeClient;
beforeAll(async () => {
  server = await startTestServer();
  client = await adminOf(server);
});
afterAll(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

const names = (kind: string) => ({ group: 'ex.io', version: 'v1', kind });

const zodSpec = z.object({
  size: z.int().min(1).max(9).describe('How large it is.'),
  color: z.enum(['red', 'blue']).default('red'),
  note: z
    .string()
    .regex(/^[a-z]*$/)
    .nullable()
    .optional(),
  ratio: z.number().gt(0).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  port: z.union([z.string(), z.int()]).optional(),
  parts: z.array(z.object({ name: z.string(), kind: z.literal(['a', 'b']) })).optional(),
  raw: z.any().optional(),
});

it('a kind defined with Zod is installed, written, checked here and by the server', async () => {
  const columns = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }];
  const widgets = defineCrd({ ...names('Widget'), spec: zodSpec, status: z.object({ ready: z.boolean() }), columns });
  expectTypeOf(widgets.resource).toExtend<{ kind: string }>();
  await expect(client.discovery.find({ kind: 'Widget' })).rejects.toThrow('Cannot find a resource of kind "Widget"');
  await installCrd(client, widgets);
  expect(await client.discovery.find({ kind: 'Widget' })).toMatchObject({ plural: 'widgets' });
  await installCrd(client, widgets); // again is the same as once
  const api = client.resource(widgets.resource, 'default');
  const made = await api.create({
    metadata: { name: 'a' },
    spec: { size: 1, color: 'blue', note: null, port: 'http', parts: [{ name: 'x', kind: 'a' }], raw: { any: [1] } },
  });
  expectTypeOf(made.spec.size).toEqualTypeOf<number>();
  expectTypeOf(made.status?.ready).toEqualTypeOf<boolean | undefined>();
  expect(made.spec.raw).toEqual({ any: [1] });
  const wrong = { metadata: { name: 'b' }, spec: { size: 10, color: 'red' } } as const;
  await expect(api.create(wrong)).rejects.toThrow(InvalidObjectError);
  // The server refuses the same, whoever sends it.
  const raw = server.client.create('/apis/ex.io/v1/namespaces/default/widgets', {
    ...wrong,
    apiVersion: 'ex.io/v1',
    kind: 'Widget',
  });
  await expect(raw).rejects.toMatchObject({ message: expect.stringContaining('spec.size') });
  await expect(api.status.update('a', { ...made, status: { ready: true } })).resolves.toMatchObject({
    status: { ready: true },
  });
});

it('Valibot, TypeBox and a schema beside its JSON Schema give kinds that the server takes', async () => {
  const valibot = toStandardJsonSchema(
    v.object({ size: v.pipe(v.number(), v.integer()), name: v.optional(v.string()) }),
  );
  const typebox = Type.Object({
    size: Type.Integer({ minimum: 1 }),
    labels: Type.Optional(Type.Record(Type.String(), Type.String())),
    mode: Type.Union([Type.Literal('fast'), Type.Literal('slow')]),
  });
  const definitions = [
    defineCrd({ ...names('Valve'), spec: valibot }),
    defineCrd<{ size: number; mode: 'fast' | 'slow' }>({ ...names('Box'), spec: typebox, isNamespaced: false }),
    defineCrd({
      ...names('Policy'),
      spec: { validate: zodSpec, jsonSchema: z.toJSONSchema(zodSpec, { io: 'input' }) },
    }),
  ] as const;
  expect(definitions.map(({ crd }) => crd.metadata.name)).toEqual(['valves.ex.io', 'boxes.ex.io', 'policies.ex.io']);
  await installCrd(client, definitions);
  const boxes = client.resource(definitions[1].resource);
  await boxes.create({ metadata: { name: 'a' }, spec: { size: 1, mode: 'fast' } });
  const unsized = { metadata: { name: 'b' }, spec: { mode: 'fast' } } as never;
  await expect(boxes.create(unsized)).rejects.toThrow('Cannot use Box "b": spec.size: is required');
  const { items } = await client.resource(apiextensionsv1.customResourceDefinitions).list();
  for (const { status } of items)
    expect(status?.conditions?.filter(({ type }) => type === 'NonStructuralSchema')).toEqual([]);
});

it('a name that another kind has is told, not waited for', async () => {
  const thief = defineCrd({ ...names('Thief'), plural: 'thieves', shortNames: ['widgets'], spec: { type: 'object' } });
  await expect(installCrd(client, thief)).rejects.toThrow(CrdError);
});

it.each<[claim: string, schema: unknown, place: string]>([
  [
    'one of several shapes',
    { type: 'object', properties: { a: { anyOf: [{ type: 'object' }, { type: 'array' }] } } },
    'spec.a',
  ],
  ['a shape within itself', { type: 'object', properties: { a: { $ref: '#' } } }, 'spec.a'],
  [
    'a list with a type for each place',
    { type: 'object', properties: { a: { type: 'array', prefixItems: [] } } },
    'spec.a',
  ],
  ['rules for names', { type: 'object', patternProperties: { '^a': { type: 'string' } } }, 'spec'],
  ['a condition', { type: 'object', if: {} }, 'spec'],
  ['no schema', 1, 'spec'],
])('fromJsonSchema() refuses %s, and says where', (_claim, schema, place) => {
  expect(() => fromJsonSchema(schema)).toThrow(`Cannot make a structural schema of ${place}: `);
});

it('a generated token checks before it sends, as its schema says', async () => {
  expect([gadgets.apiVersion, gadgetsV1beta1.apiVersion]).toEqual(['tools.ex.io/v1', 'tools.ex.io/v1beta1']);
  const bad = { mode: 'Quick', ports: [], name: 'toolong' } as never;
  await expect(client.resource(gadgets).create({ metadata: { name: 'a' }, spec: bad })).rejects.toThrow(
    'Cannot use Gadget "a": spec.mode: must be one of "Fast", "Slow", "don\'t"; spec.ports: must have at least 1 items; ' +
      'spec.name: must have at most 5 characters',
  );
});

it('a definition is checked without a server, in the words in which the server refuses it', async () => {
  const good = defineCrd({ ...names('Checked'), spec: zodSpec });
  await expect(checkCrd(good)).resolves.toBeUndefined();
  const rule = (rule: string) => ({ type: 'object', 'x-kubernetes-validations': [{ rule }] });
  const { crd } = defineCrd({ ...names('Bad'), spec: { type: 'object' } });
  const changed = (change: object) => ({ ...crd, spec: { ...crd.spec!, ...change } });
  const bad = [
    ...BAD_SCHEMAS.map(([, , spec]) => withSchema(crd, spec)),
    withSchema(crd, rule('self.missing > 1')),
    withSchema(crd, {
      type: 'object',
      properties: { a: { ...rule('self.all(x, x > 1)'), type: 'array', items: { type: 'string' } } },
    }),
    { ...changed({ group: 'example.k8s.io' }), metadata: { name: 'bads.example.k8s.io' } },
    { ...changed({ names: { ...crd.spec!.names, plural: 'Not_good' } }), metadata: { name: 'Not_good.ex.io' } },
    defineCrd({
      ...names('Bad'),
      columns: [{ name: 'x', type: 'string', jsonPath: '.spec[' }],
      spec: { type: 'object' },
    }),
    { ...crd, metadata: { name: 'other.ex.io' } },
    changed({ versions: [] }),
  ];
  const refusal = (error: unknown) => (error as { status?: unknown }).status ?? error;
  for (const one of bad) {
    const here = await checkCrd(one).then(() => 'taken', refusal);
    expect(here).toMatchObject({ code: 422, reason: 'Invalid' });
    const body = 'crd' in one ? one.crd : one;
    expect(
      await client
        .resource(apiextensionsv1.customResourceDefinitions)
        .create(body as never)
        .then(() => 'taken', refusal),
    ).toEqual(here);
  }
});

const field = (schema: object) => ({ type: 'object', properties: { a: schema } });
const BAD_SCHEMAS: [claim: string, place: string, spec: object][] = [
  ['a pattern that is none', 'spec.a, pattern', field({ type: 'string', pattern: '(' })],
  ['a pattern that Go does not have', 'spec.a, pattern', field({ type: 'string', pattern: '^(?!x)' })],
  ['a default of another type', 'spec.a, default', field({ type: 'string', default: 5 })],
  [
    'a default beyond its bounds',
    'spec.a[].b, default',
    field({ type: 'array', items: { type: 'object', properties: { b: { type: 'integer', maximum: 1, default: 2 } } } }),
  ],
  ['unique items', 'spec.a, uniqueItems', field({ type: 'array', items: { type: 'string' }, uniqueItems: true })],
  ['a type that is none', 'spec.a, type', field({ type: 'text' })],
  [
    'a map by a key that no item has',
    'spec.a, x-kubernetes-list-map-keys',
    field({
      ...{ type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
      items: { type: 'object', properties: { b: { type: 'string' } } },
    }),
  ],
  [
    'a rule without a text',
    'spec.a, x-kubernetes-validations[0].rule',
    field({ type: 'string', 'x-kubernetes-validations': [{}] }),
  ],
];

it.each(BAD_SCHEMAS)('defineCrd() refuses %s, at %s', (_claim, place, spec) => {
  expect(() => defineCrd({ ...names('Bad'), spec })).toThrow(`Cannot define "Bad": ${place}: `);
});

it.each<[place: string, options: Partial<CrdOptions<unknown, unknown>>]>([
  ['group', { group: 'nodots' }],
  ['version', { version: 'V1' }],
  ['plural', { plural: 'Not_good' }],
  ['shortNames[0]', { shortNames: ['Bad'] }],
  ['columns[0].type', { columns: [{ name: 'x', type: 'no', jsonPath: '.spec' }] }],
  ['columns[0].jsonPath', { columns: [{ name: 'x', type: 'string', jsonPath: 'spec' }] }],
  ['scale.specReplicasPath', { scale: { specReplicasPath: '.x', statusReplicasPath: '.status.y' } }],
])('defineCrd() refuses what the server would, at %s', (place, options) => {
  expect(() => defineCrd({ ...names('Bad'), spec: { type: 'object' }, ...options })).toThrow(
    `Cannot define "Bad": ${place}: `,
  );
});

it('defineCrd() refuses a schema if and only if the server does', async () => {
  const { crd } = defineCrd({ ...names('Bad'), spec: { type: 'object' } });
  const verdicts = { taken: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(anySchema, async (schema) => {
      const spec = field(schema);
      let structural: object;
      try {
        structural = fromJsonSchema(spec);
      } catch {
        return; // it has no form that a server could be asked about
      }
      const there = await checkCrd(withSchema(crd, structural)).then(
        () => true,
        () => false,
      );
      let here = true;
      try {
        defineCrd({ ...names('Bad'), spec });
      } catch {
        here = false;
      }
      verdicts[there ? 'taken' : 'refused']++;
      expect(here).toBe(there);
    }),
    { numRuns: 200, seed: 7 },
  );
  expect(verdicts.taken).toBeGreaterThan(20);
  expect(verdicts.refused).toBeGreaterThan(20);
});

/** Words that go together, and now and then one more that does not. */
const EXTRAS: object[] = [
  ...[{ pattern: '^a+$' }, { pattern: '(' }, { pattern: '(?!a)' }, { default: 1 }, { default: 'a' }, { default: {} }],
  ...[{ enum: ['a', 'b'] }, { enum: [1] }, { maximum: 1 }, { minLength: 2 }, { nullable: true }, { format: 'date' }],
  ...[{ required: ['a'] }, { uniqueItems: true }, { uniqueItems: false }, { additionalProperties: false }],
  ...['set', 'map', 'atomic', 'other'].map((type) => ({ 'x-kubernetes-list-type': type })),
  { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] },
  ...['atomic', 'granular', 'other'].map((type) => ({ 'x-kubernetes-map-type': type })),
  { 'x-kubernetes-int-or-string': true },
  { 'x-kubernetes-embedded-resource': true },
  { 'x-kubernetes-preserve-unknown-fields': true },
  { 'x-kubernetes-preserve-unknown-fields': false },
];
const schemaOf = (depth: number): fc.Arbitrary<object> => {
  const plain = fc.constantFrom<object[]>(...['string', 'integer', 'number', 'boolean'].map((type) => ({ type })));
  const deeper = depth > 0 ? schemaOf(depth - 1) : plain;
  const shape = fc.oneof(
    plain,
    deeper.map((items) => ({ type: 'array', items })),
    fc.dictionary(fc.constantFrom('a', 'b'), deeper).map((properties) => ({ type: 'object', properties })),
    deeper.map((additionalProperties) => ({ type: 'object', additionalProperties })),
  );
  const extras = fc.oneof(fc.constant({}), fc.constant({}), fc.constantFrom(...EXTRAS));
  return fc.tuple(shape, extras).map(([schema, extra]) => ({ ...schema, ...extra }));
};
const anySchema = schemaOf(2);

function withSchema<T extends CrdDefinition['crd']>(crd: T, spec: object): T {
  const copy = structuredClone(crd);
  const schema = copy.spec!.versions![0]!.schema!.openAPIV3Schema as { properties: { spec: object } };
  schema.properties.spec = spec;
  return copy;
}
