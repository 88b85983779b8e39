import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../api/index.ts';
import { checkStructural } from '../../schemas/structural/structural-schema.ts';
import { Validation } from '../../schemas/structural/validation.ts';
import { judgeNames, namesInUse } from '../controllers/crd/accepted-names.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { asDefinition, type DefinitionNames } from './definition.ts';
import { definitionStrategy } from './definition-strategy.ts';

const context = {
  now: '2026-01-01T00:00:00Z',
  subresource: '',
  warn: () => {},
  list: async () => [],
  listHeld: async () => [],
  listKnown: async () => [],
  known: () => undefined,
  remembered: () => undefined,
  walk: async () => ({ total: 0, objects: [] }),
};

type Version = JsonObject & { name: string };

function crd(
  change: (spec: JsonObject & { versions: Version[]; names: DefinitionNames }) => void = () => {},
): KubeObject {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
  const names = { plural: 'foos', kind: 'Foo' };
  const spec = { group: 'ex.io', scope: 'Namespaced', names, versions: [version as Version] };
  change(spec as never);
  const object = {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'foos.ex.io' },
    spec,
  };
  return object as unknown as KubeObject;
}

async function created(object: KubeObject): Promise<KubeObject> {
  definitionStrategy.setDefaults?.(object);
  await definitionStrategy.prepareCreate?.(object, context);
  return object;
}

async function faultsOf(object: KubeObject): Promise<string[]> {
  return (await definitionStrategy.validate!(await created(object))).map(fieldErrorText);
}

it('a new definition gets its names, its conversion and an empty status', async () => {
  const object = await created(crd());
  expect(object.spec).toMatchObject({
    names: { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList' },
    conversion: { strategy: 'None' },
  });
  expect(object.status).toEqual({ conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] });
});

it.each<[claim: string, change: Parameters<typeof crd>[0], want: (string | RegExp)[]]>([
  ['that is good', undefined, []],
  ['without a group', (spec) => delete spec.group, [/^metadata.name: /, 'spec.group: Required value']],
  [
    'with a bad plural',
    (spec) => (spec.names.plural = 'Foos'),
    [/^metadata.name: /, /^spec.names.plural: Invalid value: "Foos"/],
  ],
  [
    'without names',
    (spec) => ((spec as JsonObject).names = {}),
    [
      /^metadata.name: /,
      ...['plural', 'singular', 'kind', 'listKind'].map((name) => `spec.names.${name}: Required value`),
    ],
  ],
  [
    'with empty short names and categories',
    (spec) => Object.assign(spec.names, { shortNames: [''], categories: ['all', ''] }),
    [
      /^spec.names.shortNames\[0\]: Invalid value: "": a DNS-1035 label must consist/,
      /^spec.names.categories\[1\]: Invalid value: "": a DNS-1035 label must consist/,
    ],
  ],
  [
    'with a warning that is too long and not to be printed',
    (spec) => Object.assign(spec.versions[0]!, { deprecated: true, deprecationWarning: `é\t${'a'.repeat(300)}` }),
    [
      /: must be <= 256 characters long$/,
      /: must only contain printable UTF-8 characters; non-printable character found at index 2$/,
    ],
  ],
  [
    'with a status and a root of another type',
    (spec) =>
      Object.assign(spec.versions[0]!, {
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'array', nullable: true, items: { type: 'string' } } },
      }),
    [
      /^spec.validation.openAPIV3Schema.type: Invalid value: "array": only "object" is allowed as the type at the root/,
      'spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root',
      'spec.validation.openAPIV3Schema.type: Invalid value: "array": must be object at the root',
    ],
  ],
  [
    'with a column that names no path',
    (spec) => (spec.versions[0]!.additionalPrinterColumns = [{ name: 'A', type: 'string', jsonPath: 'a' }]),
    ['spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .'],
  ],
  [
    'with a label selector nowhere',
    (spec) =>
      (spec.versions[0]!.subresources = {
        scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', labelSelectorPath: '.a' },
      }),
    [/^spec.subresources.scale.labelSelectorPath: .* should be a json path under either .spec or .status$/],
  ],
  [
    'with brackets in a field to select',
    (spec) => (spec.versions[0]!.selectableFields = [{ jsonPath: "['a']" }, { jsonPath: '.metadata.name' }]),
    [
      /^spec.selectableFields\[0\].jsonPath: .* is an invalid path: array notation is not allowed$/,
      /^spec.selectableFields\[1\].jsonPath: .* is an invalid path: does not refer to a valid field$/,
    ],
  ],
  [
    'with one name for both kinds',
    (spec) => (spec.names.listKind = 'Foo'),
    ['spec.names.listKind: Invalid value: "Foo": kind and listKind may not be the same'],
  ],
  [
    'without versions',
    (spec) => delete (spec as JsonObject).versions,
    [
      'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
      /^status.storedVersions: Invalid value: null: /,
    ],
  ],
  [
    'with an empty list of versions',
    (spec) => spec.versions.pop(),
    [/^spec.versions: Invalid value: \[\]: must have exactly one/, /^status.storedVersions: Invalid value: null: /],
  ],
  [
    'with a version twice',
    (spec) => spec.versions.push({ ...spec.versions[0]!, storage: false }),
    [/must contain unique version names/],
  ],
  [
    'with a bad scale',
    (spec) => (spec.versions[0]!.subresources = { scale: { specReplicasPath: '.x.y', statusReplicasPath: '' } }),
    [
      /^spec.subresources.scale.specReplicasPath: Invalid value: ".x.y": should be a json path under .spec/,
      'spec.subresources.scale.statusReplicasPath: Required value',
    ],
  ],
  [
    'with a bad column',
    (spec) => (spec.versions[0]!.additionalPrinterColumns = [{ name: 'A', type: 'float', jsonPath: '.a' }]),
    [/^spec.additionalPrinterColumns\[0\].type: Invalid value: "float"/],
  ],
  [
    'with a field to select that is not declared',
    (spec) => (spec.versions[0]!.selectableFields = [{ jsonPath: '.spec.zz' }]),
    [/^spec.selectableFields\[0\].jsonPath: Invalid value/],
  ],
  [
    'with a webhook',
    (spec) => (spec.conversion = { strategy: 'Webhook' }),
    [
      /^spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook/,
      /^spec.conversion.conversionReviewVersions: Required value/,
    ],
  ],
  [
    'that keeps everything',
    (spec) => (spec.preserveUnknownFields = true),
    [/^spec.preserveUnknownFields: Invalid value: true/],
  ],
])('a definition %s is judged', async (_claim, change, want) => {
  const faults = await faultsOf(crd(change as never));
  expect(faults).toHaveLength(want.length);
  for (const [index, one] of want.entries()) expect(faults[index]).toMatch(one);
});

it('a group of the Kubernetes project needs approval', async () => {
  const object = crd((spec) => (spec.group = 'x.k8s.io'));
  object.metadata.name = 'foos.x.k8s.io';
  expect(await faultsOf(object)).toEqual([expect.stringContaining('protected groups must have approval annotation')]);
  object.metadata.annotations = { 'api-approved.kubernetes.io': 'unapproved, a test' };
  expect(await faultsOf(object)).toEqual([]);
});

it('what objects depend on does not change once the definition is established', async () => {
  const old = await created(crd());
  const next = structuredClone(old);
  asDefinition(next).spec.scope = 'Cluster';
  expect(definitionStrategy.validateUpdate!(next, old)).toEqual([]);
  asDefinition(old).status.conditions = [{ type: 'Established', status: 'True' }];
  expect(definitionStrategy.validateUpdate!(next, old).map(fieldErrorText)).toEqual([
    'spec.scope: Invalid value: "Cluster": field is immutable',
  ]);
});

it('that its name fits is asked of a new definition only, as neither part changes', async () => {
  const old = await created(crd());
  const next = structuredClone(old);
  asDefinition(next).spec.group = 'other.io';
  const faults = [...(await definitionStrategy.validate!(next, old)), ...definitionStrategy.validateUpdate!(next, old)];
  expect(faults.map(fieldErrorText)).toEqual(['spec.group: Invalid value: "other.io": field is immutable']);
});

it('a new storage version is stored from then on, and none that is stored may go', async () => {
  const old = await created(crd());
  const next = structuredClone(old);
  const { spec } = asDefinition(next);
  spec.versions[0]!.storage = false;
  spec.versions.push({ ...spec.versions[0]!, name: 'v2', storage: true });
  await definitionStrategy.prepareUpdate?.(next, old, context);
  expect(asDefinition(next).status.storedVersions).toEqual(['v1', 'v2']);
  spec.versions.shift();
  expect((await definitionStrategy.validate!(next)).map(fieldErrorText)).toEqual([
    expect.stringContaining('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was'),
  ]);
});

it.each<[claim: string, schema: JsonObject, want: string[]]>([
  ['without a type', {}, ['s.type: Required value: must not be empty at the root']],
  [
    'of a list',
    { type: 'array', items: { type: 'string' } },
    ['s.type: Invalid value: "array": must be object at the root'],
  ],
  [
    'with untyped fields and items',
    { type: 'object', properties: { a: {}, b: { type: 'array', items: {} } } },
    [
      's.properties[a].type: Required value: must not be empty for specified object fields',
      's.properties[b].items.type: Required value: must not be empty for specified array items',
    ],
  ],
  [
    'with types inside a combination',
    { type: 'object', properties: { a: { type: 'string' } }, anyOf: [{ properties: { a: { type: 'string' } } }] },
    ['s.anyOf[0].properties[a].type: Forbidden: must be empty to be structural'],
  ],
  [
    'with a field only inside a combination',
    { type: 'object', allOf: [{ properties: { a: { minLength: 1 } } }] },
    ['s.properties[a]: Required value: because it is defined in s.allOf[0].properties[a]'],
  ],
  [
    'with what is not supported',
    {
      type: 'object',
      properties: {
        a: { type: 'array', uniqueItems: true, items: { type: 'string' } },
        b: { $ref: 'x', type: 'string' },
      },
    },
    [
      's.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      's.properties[b].$ref: Forbidden: $ref is not supported',
    ],
  ],
  [
    'with a bad pattern',
    { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
    [
      's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
    ],
  ],
  [
    'with a bad default',
    { type: 'object', properties: { a: { type: 'integer', default: 'x' } } },
    ['s.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'],
  ],
  [
    'with keys that may be missing',
    {
      type: 'object',
      properties: {
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'string' } } },
        },
      },
    },
    [
      's.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
  ],
  [
    'with int-or-string',
    {
      type: 'object',
      properties: { a: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] } },
    },
    [],
  ],
  ['with free fields', { type: 'object', properties: { a: { 'x-kubernetes-preserve-unknown-fields': true } } }, []],
])('a schema %s is judged', async (_claim, schema, want) => {
  const validation = new Validation();
  await new WorkSlices().run(checkStructural(schema, 's', validation));
  expect(validation.faults.map(fieldErrorText)).toEqual(want);
});

it.each<[claim: string, names: DefinitionNames, reason: string, message: string]>([
  ['free', { plural: 'bars', kind: 'Bar' }, 'NoConflicts', 'no conflicts found'],
  ['taken as short name', { plural: 'f', kind: 'Bar' }, 'PluralConflict', '"f" is already in use'],
  [
    'taken as singular',
    { plural: 'bars', singular: 'foo', kind: 'Bar' },
    'SingularConflict',
    '"foo" is already in use',
  ],
  [
    'taken short names',
    { plural: 'bars', kind: 'Bar', shortNames: ['f', 'foos'] },
    'ShortNamesConflict',
    '["f" is already in use, "foos" is already in use]',
  ],
  ['taken as kind', { plural: 'bars', kind: 'Foo', listKind: 'BarList' }, 'KindConflict', '"Foo" is already in use'],
  [
    'taken as list',
    { plural: 'bars', kind: 'Bar', listKind: 'FooList' },
    'ListKindConflict',
    '"FooList" is already in use',
  ],
])('names that are %s are judged', async (_claim, names, reason, message) => {
  const definition = asDefinition(await created(crd((spec) => (spec.names = names))));
  const inUse = namesInUse([{ plural: 'foos', singular: 'foo', shortNames: ['f'], kind: 'Foo', listKind: 'FooList' }]);
  const { namesAccepted, established } = judgeNames(definition, inUse);
  expect(namesAccepted).toMatchObject({ reason, message });
  expect(established.reason).toBe(reason === 'NoConflicts' ? 'Installing' : 'NotAccepted');
});

it.each<[claim: string, make: (size: number) => Parameters<typeof crd>[0]]>([
  [
    'many fields',
    (size) => (spec) => {
      const fields = Array.from({ length: size }, (_, i) => [`f${i}`, { type: 'string', pattern: `^${i}$` }]);
      schemaOf(spec).properties = Object.fromEntries(fields);
    },
  ],
  [
    'defaults inside defaults',
    (size) => (spec) => {
      const inner = Object.fromEntries(
        Array.from({ length: size }, (_, i) => [`f${i}`, { type: 'integer', default: i }]),
      );
      let schema: JsonObject = { type: 'object', default: {}, properties: inner };
      for (let i = 0; i < 5; i++) schema = { type: 'object', default: {}, properties: { a: schema } };
      schemaOf(spec).properties = { a: schema };
    },
  ],
  [
    'many versions',
    (size) => (spec) => {
      spec.versions = Array.from({ length: size / 10 }, (_, i) => ({
        ...spec.versions[0]!,
        name: `v${i + 1}`,
        storage: i === 0,
        schema: { openAPIV3Schema: { type: 'object', properties: { [`f${i}`]: { type: 'string' } } } },
      }));
    },
  ],
  [
    'many columns',
    (size) => (spec) => {
      const columns = Array.from({ length: size }, (_, i) => ({
        name: `c${i}`,
        type: 'string',
        jsonPath: `.spec.f${i}`,
      }));
      spec.versions[0]!.additionalPrinterColumns = columns;
    },
  ],
  [
    'combinations',
    (size) => (spec) => {
      schemaOf(spec).properties = {
        a: { type: 'string', anyOf: Array.from({ length: size }, () => ({ minLength: 1 })) },
      };
    },
  ],
])('a definition with %s is judged in time in proportion to it', async (claim, make) => {
  await expectLinear(claim, {
    make: (size) => crd(make(size)),
    run: async (object) => expect(await faultsOf(object)).toEqual([]),
    from: 1000,
    limit: 64_000,
    rounds: 2,
  });
});

it('a definition with a fault in every field does not tell them all', async () => {
  const object = crd((spec) => {
    const fields = Array.from({ length: 50_000 }, (_, i) => [`f${i}`, { type: 'nope' }]);
    schemaOf(spec).properties = Object.fromEntries(fields);
  });
  const faults = await faultsOf(object);
  expect(faults.at(-1)).toBe('<nil>: Invalid value: too many errors, further ones are left out');
  expect(faults.join('').length).toBeLessThan(1_500_000);
});

it.each(['constructor', 'toString', '__proto__'])('a path to %s leads to a field of that name only', async (name) => {
  const object = crd((spec) => {
    spec.versions[0]!.selectableFields = [{ jsonPath: `.${name}` }, { jsonPath: `.spec.${name}` }];
    schemaOf(spec).properties = {
      spec: { type: 'object', properties: JSON.parse(`{"${name}":{"type":"string"}}`) as JsonObject },
    };
  });
  expect(await faultsOf(object)).toEqual([
    `spec.selectableFields[0].jsonPath: Invalid value: ".${name}": is an invalid path: does not refer to a valid field`,
  ]);
});

function schemaOf(spec: { versions: Version[] }): JsonObject {
  return (spec.versions[0]!.schema as { openAPIV3Schema: JsonObject }).openAPIV3Schema;
}
