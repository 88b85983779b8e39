/**
 * Custom kinds: definitions that are large, deep or full of rules, and objects that make their schemas, patterns and
 * rules work. What a definition costs, its author pays; what an object costs, whoever may create one.
 */
import { openEtcdStore } from '../../../src/store/index.ts';
import { requestCase, type ServerTarget, type StallRequest } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { LONGEST_BODY } from './body-cases.ts';
import { FORMATS, jsonPaths, patternTexts, ruleTexts, slowPaths, slowPatterns, slowRules } from './custom-shapes.ts';
import { MOST_MEMBERS, repeated, textShapes, times } from './text-shapes.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

type Json = Record<string, unknown>;

/** Of a kind that belongs to this very play. */
function definition(name: string, schema: Json, version: Json = {}, spec: Json = {}): Json {
  const plural = name.replace('-', '');
  const versionSpec = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.stall.example` },
    spec: {
      group: 'stall.example',
      scope: 'Namespaced',
      names: { plural, kind: `K${plural}` },
      versions: [versionSpec],
      ...spec,
    },
  };
}

const objectsOf = (name: string) => `/apis/stall.example/v1/namespaces/stall/${name.replace('-', '')}`;
const specOf = (properties: Json, more: Json = {}): Json => ({
  type: 'object',
  properties: { spec: { type: 'object', properties, ...more } },
});

function defining(
  name: string,
  covers: string,
  limit: number,
  make: (size: number, label: string) => Json,
): StallCase<ServerTarget> {
  return requestCase(
    `a definition with ${name}`,
    [covers],
    limit,
    (size, label): StallRequest => ({ method: 'POST', path: CRDS, body: make(size, label) }),
    { after: removeDefinition },
  );
}

/** An object of a kind that was defined before. `spec` may be text, for what is too large to be written out. */
function creating(
  name: string,
  covers: string,
  limit: number,
  schema: (size: number) => Json,
  spec: (size: number) => object | string,
  more: { version?: Json; headers?: Record<string, string>; rule?: string; policy?: string } = {},
): StallCase<ServerTarget> {
  return requestCase(
    `an object with ${name}`,
    [covers],
    limit,
    (size, label): readonly StallRequest[] => {
      const body = spec(size);
      const kind = `K${label.replace('-', '')}`;
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const object = `{"apiVersion":"stall.example/v1","kind":"${kind}","metadata":{"name":"a"},"spec":${text}}`;
      const created: StallRequest = { method: 'POST', path: objectsOf(label), body: object };
      return more.headers ? [created, { path: objectsOf(label), headers: more.headers }] : [created];
    },
    {
      before: async (target, size, label) => {
        await define(target, label, definition(label, schema(size), more.version));
        if (more.rule) await storeRule(target, label, more.rule);
        if (more.policy) await addPolicy(target, label, more.policy);
      },
      after: async (target, size, label) => {
        if (more.policy) await removePolicy(target, label);
        await removeDefinition(target, size, label);
      },
    },
  );
}

async function define(target: ServerTarget, name: string, body: Json): Promise<void> {
  await target.must({ method: 'POST', path: CRDS, body });
  // Served a moment after it was stored.
  for (let tries = 0; tries < 200; tries++) {
    const { status } = await target.ask({ path: `${objectsOf(name)}?limit=1` });
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`Cannot prepare the kind of ${name}: it is never served`);
}

async function removeDefinition(target: ServerTarget, _size: number, name: string): Promise<void> {
  await target.ask({ method: 'DELETE', path: `${CRDS}/${name.replace('-', '')}.stall.example` });
}

/**
 * What a rule may cost is reckoned when it is defined, and these are refused then. Those that were stored before, by a
 * server that did not reckon, are held by the budget of the run alone.
 */
async function storeRule(target: ServerTarget, name: string, text: string): Promise<void> {
  const crd = `${name.replace('-', '')}.stall.example`;
  const key = `/registry/apiextensions.k8s.io/customresourcedefinitions/${crd}`;
  await using store = await openEtcdStore({ endpoints: [target.etcdUrl] });
  const { kv } = await store.get(key);
  const value = Buffer.from(kv!.value)
    .toString()
    .replaceAll(`"rule":"${HARMLESS}"`, () => `"rule":${JSON.stringify(text)}`);
  await store.txn({ then: [{ kind: 'put', key, value: Buffer.from(value) }] });
  await untilTold(target, `${CRDS}/${crd}`, JSON.stringify(text));
}

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

/** The rule as a policy for objects of this kind: nobody reckons what that may cost. */
async function addPolicy(target: ServerTarget, name: string, text: string): Promise<void> {
  const metadata = { name };
  const resourceRules = [
    { apiGroups: ['stall.example'], apiVersions: ['*'], operations: ['CREATE'], resources: [name.replace('-', '')] },
  ];
  const spec = { matchConstraints: { resourceRules }, validations: [{ expression: text }] };
  await target.must({ method: 'POST', path: POLICIES, body: { metadata, spec } });
  const binding = { metadata, spec: { policyName: name, validationActions: ['Deny'] } };
  await target.must({ method: 'POST', path: POLICIES.replace('policies', 'policybindings'), body: binding });
  await untilTold(target, `${POLICIES}/${name}`, JSON.stringify(text));
}

async function removePolicy(target: ServerTarget, name: string): Promise<void> {
  for (const path of [POLICIES.replace('policies', 'policybindings'), POLICIES])
    await target.ask({ method: 'DELETE', path: `${path}/${name}` });
}

/** Until the server's own copy has it, and so whoever follows that copy. */
async function untilTold(target: ServerTarget, path: string, text: string): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    const { body } = await target.ask({ path: `${path}?resourceVersion=0` });
    if (JSON.stringify(JSON.parse(body.toString())).includes(text)) return;
  }
  throw new Error(`Cannot prepare ${path}: it never says ${text}`);
}

const HARMLESS = 'true';
const rule = (text: string): Json => ({ 'x-kubernetes-validations': [{ rule: text }] });
const texts = { type: 'array', items: { type: 'string' } };
const SCHEMA = 'custom:schema';
const CEL = 'custom:cel';
const POLICY = 'custom:policy';
const PATTERN = 'custom:pattern';
const COLUMNS = 'custom:columns';

const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const column = (jsonPath: string, i = 0): Json => ({ name: `C${i}`, type: 'string', jsonPath });

const definitionCases = [
  defining('many fields', SCHEMA, 40_000, (size, name) =>
    definition(name, specOf(Object.fromEntries(times(size, (i) => [`f${i}`, { type: 'string' }])))),
  ),
  defining('deep fields', SCHEMA, 40_000, (size, name) => {
    let inner: Json = { type: 'string' };
    for (let depth = 0; depth < Math.min(size, 1_500); depth++) inner = { type: 'object', properties: { a: inner } };
    return definition(name, { type: 'object', properties: { spec: inner } });
  }),
  defining('deep lists', SCHEMA, 1_500, (size, name) => {
    let inner: Json = { type: 'string' };
    for (let depth = 0; depth < size; depth++) inner = { type: 'array', items: inner };
    return definition(name, { type: 'object', properties: { spec: inner } });
  }),
  defining('many faults', SCHEMA, 20_000, (size, name) =>
    definition(name, specOf(Object.fromEntries(times(size, (i) => [`f${i}`, { type: 'nothing' }])))),
  ),
  defining('many alternatives', SCHEMA, 20_000, (size, name) =>
    definition(name, specOf({ a: { type: 'string', anyOf: times(size, (i) => ({ enum: [`v${i}`] })) } })),
  ),
  defining('one long enumeration', SCHEMA, 100_000, (size, name) =>
    definition(name, specOf({ a: { type: 'string', enum: times(size, (i) => `v${i}`) } })),
  ),
  defining('many required fields', SCHEMA, 50_000, (size, name) =>
    definition(name, specOf({ a: { type: 'string' } }, { required: times(size, (i) => `f${i}`) })),
  ),
  defining('many defaults', SCHEMA, 20_000, (size, name) =>
    definition(name, specOf(Object.fromEntries(times(size, (i) => [`f${i}`, { type: 'string', default: 'v' }])))),
  ),
  defining('one large default', SCHEMA, 60_000, (size, name) =>
    definition(name, specOf({ a: { ...texts, default: times(size, (i) => `v${i}`) } })),
  ),
  defining('a long description', SCHEMA, LONGEST_BODY, (size, name) =>
    definition(name, specOf({ a: { type: 'string', description: 'x'.repeat(size) } })),
  ),
  defining('many versions', SCHEMA, 4_000, (size, name) =>
    definition(
      name,
      {},
      {},
      {
        versions: times(size, (i) => ({
          name: `v${i + 1}`,
          served: true,
          storage: i === 0,
          schema: { openAPIV3Schema: { type: 'object' } },
        })),
      },
    ),
  ),
  defining('many versions with a field each that can be selected', SCHEMA, 4_000, (size, name) =>
    definition(
      name,
      {},
      {},
      {
        versions: times(size, (i) => ({
          name: `v${i + 1}`,
          served: true,
          storage: i === 0,
          schema: { openAPIV3Schema: { type: 'object', properties: { [`f${i}`]: { type: 'string' } } } },
          selectableFields: [{ jsonPath: `.f${i}` }],
        })),
      },
    ),
  ),
  defining('many short names', SCHEMA, 50_000, (size, name) =>
    definition(
      name,
      { type: 'object' },
      {},
      {
        names: {
          plural: name.replace('-', ''),
          kind: 'Kx',
          shortNames: times(size, (i) => `s${i}x`),
        },
      },
    ),
  ),
  defining('many categories', SCHEMA, 50_000, (size, name) =>
    definition(
      name,
      { type: 'object' },
      {},
      {
        names: {
          plural: name.replace('-', ''),
          kind: 'Kx',
          categories: times(size, (i) => `c${i}`),
        },
      },
    ),
  ),
  defining('many columns', COLUMNS, 20_000, (size, name) =>
    definition(name, specOf({ a: { type: 'string' } }), {
      additionalPrinterColumns: times(size, (i) => column('.spec.a', i)),
    }),
  ),
  ...Object.entries(jsonPaths).map(([shape, path]) =>
    defining(`a column that is ${shape}`, COLUMNS, 500_000, (size, name) =>
      definition(name, specOf({ a: { type: 'string' } }), { additionalPrinterColumns: [column(path(size))] }),
    ),
  ),
  defining('many rules', CEL, 2_000, (size, name) =>
    definition(
      name,
      specOf(
        { a: { type: 'string', maxLength: 5 } },
        {
          'x-kubernetes-validations': times(size, (i) => ({ rule: `self.a != 'v${i}'` })),
        },
      ),
    ),
  ),
  ...Object.entries(ruleTexts).map(([shape, text]) =>
    defining(`a rule that is ${shape}`, CEL, 9_900, (size, name) =>
      definition(name, specOf({ a: { type: 'string' }, list: texts }, rule(text(size)))),
    ),
  ),
  defining('many patterns', PATTERN, 2_000, (size, name) =>
    definition(
      name,
      specOf(Object.fromEntries(times(size, (i) => [`f${i}`, { type: 'string', pattern: `^a{1,50}b${i}$` }]))),
    ),
  ),
  ...Object.entries(patternTexts).map(([shape, text]) =>
    defining(`a pattern that is ${shape}`, PATTERN, 9_900, (size, name) =>
      definition(name, specOf({ a: { type: 'string', pattern: text(size) } })),
    ),
  ),
];

/** What the slow rules speak of. */
const slowFields = {
  s: { type: 'string' },
  list: texts,
  map: { type: 'object', additionalProperties: { type: 'string' } },
  other: texts,
};

const objectCases = [
  creating(
    'many fields that are not in the schema',
    SCHEMA,
    MOST_MEMBERS,
    () => specOf({}),
    (size) => Object.fromEntries(times(size, (i) => [`u${i}`, 1])),
  ),
  creating(
    'a large map',
    SCHEMA,
    MOST_MEMBERS,
    () => specOf({ m: { type: 'object', additionalProperties: { type: 'string' } } }),
    (size) => ({ m: Object.fromEntries(times(size, (i) => [`k${i}`, 'v'])) }),
  ),
  creating(
    'a map larger than there may be',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ m: { type: 'object', additionalProperties: { type: 'string' } } }),
    (size) => `{"m":{${repeated((i) => `"k${i}":"v",`, size)}"z":"v"}}`,
  ),
  creating(
    'a large list',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: texts }),
    (size) => `{"list":[${repeated((i) => `"v${i}",`, size)}"z"]}`,
  ),
  creating(
    'a set',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: { ...texts, 'x-kubernetes-list-type': 'set' } }),
    (size) => `{"list":[${repeated((i) => `"v${i}",`, size)}"z"]}`,
  ),
  creating(
    'a set of one value',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: { ...texts, 'x-kubernetes-list-type': 'set' } }),
    (size) => `{"list":[${repeated(() => '"v",', size)}"z"]}`,
  ),
  creating(
    'a list by keys',
    SCHEMA,
    LONGEST_BODY,
    () =>
      specOf({
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
        },
      }),
    (size) => `{"list":[${repeated((i) => `{"k":"v${i}"},`, size)}{"k":"z"}]}`,
  ),
  creating(
    'values of the wrong type',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: texts }),
    (size) => `{"list":[${repeated((i) => `${i},`, size)}1]}`,
  ),
  creating(
    'values outside of an enumeration',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: { type: 'array', items: { type: 'string', enum: times(1_000, (i) => `e${i}`) } } }),
    (size) => `{"list":[${repeated((i) => `"v${i}",`, size)}"z"]}`,
  ),
  creating(
    'many alternatives for many values',
    SCHEMA,
    3_000,
    (size) =>
      specOf({
        list: { type: 'array', items: { type: 'string', anyOf: times(size / 30, (i) => ({ pattern: `^e${i}$` })) } },
      }),
    (size) => ({ list: times(size / 2, (i) => `v${i}`) }),
  ),
  creating(
    'deep objects without a schema',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ x: { 'x-kubernetes-preserve-unknown-fields': true } }),
    (size) => `{"x":${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}}`,
  ),
  creating(
    'many embedded objects',
    SCHEMA,
    60_000,
    () =>
      specOf({
        list: {
          type: 'array',
          items: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
      }),
    (size) => ({ list: times(size / 3, (i) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: `p${i}` } })) }),
  ),
  creating(
    'defaults to fill in',
    SCHEMA,
    60_000,
    () =>
      specOf({
        list: {
          type: 'array',
          items: {
            type: 'object',
            properties: Object.fromEntries(times(10, (i) => [`f${i}`, { type: 'string', default: 'v' }])),
          },
        },
      }),
    (size) => ({ list: times(size / 4, () => ({})) }),
  ),
  creating(
    'a large number of nulls',
    SCHEMA,
    LONGEST_BODY,
    () => specOf({ list: { type: 'array', items: { type: 'string', nullable: true } } }),
    (size) => `{"list":[${repeated(() => 'null,', size)}null]}`,
  ),
  ...Object.entries(textShapes).map(([shape, make]) =>
    creating(
      `${shape} in every format`,
      'custom:format',
      LONGEST_BODY / 2,
      () => specOf(Object.fromEntries(FORMATS.map((format) => [format, { type: 'string', format }]))),
      (size) => Object.fromEntries(FORMATS.map((format) => [format, make(size / FORMATS.length)])),
    ),
  ),
  ...Object.entries(slowPatterns).map(([pattern, text]) =>
    creating(
      `text for the pattern ${pattern}`,
      PATTERN,
      500_000,
      () => specOf({ a: { type: 'string', pattern } }),
      (size) => ({ a: text(size) }),
    ),
  ),
  ...Object.entries(slowRules).map(([text, value]) =>
    creating(
      `values for the rule ${text}`,
      CEL,
      500_000,
      () => specOf(slowFields, rule(HARMLESS)),
      (size) => value(size),
      { rule: text },
    ),
  ),
  ...Object.entries(slowRules).map(([text, value]) =>
    creating(
      `values for the policy ${text}`,
      POLICY,
      500_000,
      () => specOf(slowFields),
      (size) => value(size),
      { policy: text.replaceAll('self.', 'object.spec.') },
    ),
  ),
  ...Object.entries(slowPaths).map(([shape, path]) =>
    creating(
      `a table whose columns are ${shape}`,
      COLUMNS,
      300_000,
      () => specOf({}, { 'x-kubernetes-preserve-unknown-fields': true }),
      (size) => ({ a: times(size / 20, (i) => ({ a: [i] })), deep: nested(Math.min(900, size / 20)) }),
      {
        version: { additionalPrinterColumns: times(10, (i) => column(path, i)) },
        headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
      },
    ),
  ),
];

export const customCases: readonly StallCase<ServerTarget>[] = [...definitionCases, ...objectCases];
