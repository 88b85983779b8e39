import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { checkObject } from './check-object.ts';
import { faultPathText } from './json/fault-paths.ts';

const schemaOf = (kind: string, group = '', version = 'v1') => builtInSchemas().byKind(group, version, kind)!;
const check = (kind: string, value: JsonObject, group = '') => checkObject(value, schemaOf(kind, group));

describe('checkObject() of a built-in kind', () => {
  it('shares what it does not change', () => {
    const value = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { a: '1', b: '2' } };
    expect(check('ConfigMap', value).object).toBe(value);
  });

  it('drops nulls, empty maps and zeros that mean nothing', () => {
    const value = {
      metadata: { name: 'a', labels: null, annotations: {}, finalizers: [], generation: 0 },
      data: { k: null, j: 'x' },
      immutable: false,
    };
    expect(check('ConfigMap', value).object).toEqual({
      metadata: { name: 'a' },
      data: { j: 'x', k: '' },
      immutable: false,
    });
    expect(value.data).toEqual({ k: null, j: 'x' });
  });

  it('writes structs that are no pointers, and only those', () => {
    const { object } = check('Deployment', { metadata: {}, spec: { template: {} } }, 'apps');
    expect(object).toMatchObject({ spec: { strategy: {}, template: { metadata: {}, spec: {} } }, status: {} });
    expect(check('Pod', { spec: { containers: [{ name: 'c', securityContext: {} }] } }).object).toMatchObject({
      spec: { containers: [{ name: 'c', resources: {}, securityContext: {} }] },
      status: {},
    });
  });

  it('writes a quantity that is no pointer, and reads null as none', () => {
    const valueFrom = { resourceFieldRef: { resource: 'limits.cpu' } };
    const container = { name: 'c', env: [{ name: 'CPU', valueFrom }], resources: { limits: { cpu: null } } };
    expect(check('Pod', { spec: { containers: [container] } }).object).toMatchObject({
      spec: {
        containers: [
          {
            env: [{ valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } }],
            resources: { limits: { cpu: '0' } },
          },
        ],
      },
    });
  });

  it.each<[field: string, value: JsonValue, want: string]>([
    ['additionalProperties', 'x', 'boolean or JSON schema expected'],
    ['additionalItems', [1], 'boolean or JSON schema expected'],
    [
      'items',
      [1],
      'json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type v1.JSONSchemaProps',
    ],
    [
      'definitions',
      [],
      'json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.definitions of type v1.JSONSchemaDefinitions',
    ],
    [
      'dependencies',
      'x',
      'json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.dependencies of type v1.JSONSchemaDependencies',
    ],
  ])('refuses what is no schema in %s: %j', (field, value, want) => {
    const schema = { openAPIV3Schema: { [field]: value } };
    const crd = { spec: { versions: [{ schema }] } };
    expect(() => check('CustomResourceDefinition', crd, 'apiextensions.k8s.io')).toThrow(want);
  });

  it.each<[field: string, value: JsonValue, isKept: boolean]>([
    ['additionalProperties', false, true],
    ['additionalProperties', {}, true],
    ['items', [{}, null], true],
    ['items', 5, false],
    ['items', 'x', false],
  ])('takes %s as they may be: %j is kept: %s', (field, value, isKept) => {
    const crd = (schema: JsonObject) => ({ spec: { versions: [{ schema: { openAPIV3Schema: schema } }] } });
    const { object } = check('CustomResourceDefinition', crd({ [field]: value }), 'apiextensions.k8s.io');
    expect(object).toMatchObject(crd(isKept ? { [field]: value } : {}));
    expect(JSON.stringify(object).includes(field)).toBe(isKept);
  });

  it('reads a schema in a union as one: unknown fields go untold, a wrong type is one of the union', () => {
    const crd = (openAPIV3Schema: JsonObject) => ({ spec: { versions: [{ schema: { openAPIV3Schema } }] } });
    const checkCrd = (schema: JsonObject) => check('CustomResourceDefinition', crd(schema), 'apiextensions.k8s.io');
    const { object, unknownFields } = checkCrd({ items: { k: 1, additionalProperties: { j: 2, type: 'string' } } });
    expect(object).toMatchObject(crd({ items: { additionalProperties: { type: 'string' } } }));
    expect(JSON.stringify(object)).not.toMatch(/"[jk]"/);
    expect(unknownFields).toEqual([]);
    expect(() => checkCrd({ items: { not: { type: 5 } } })).toThrow(
      'json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type string',
    );
  });

  it('takes any JSON where Go keeps it raw, an empty object too', () => {
    expect(check('ControllerRevision', { data: {} }, 'apps').object).toMatchObject({ data: {} });
    const managed = { metadata: { managedFields: [{ fieldsV1: 'x' }] } };
    expect(check('ConfigMap', managed).object).toEqual(managed);
  });

  it('names the type of values in a map', () => {
    expect(() => check('SubjectAccessReview', { spec: { extra: { k: 'x' } } }, 'authorization.k8s.io')).toThrow(
      'json: cannot unmarshal string into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue',
    );
  });

  it('sorts the keys of maps', () => {
    const { object } = check('ConfigMap', { data: { b: '1', a: '2' } });
    expect(Object.keys(object.data as JsonObject)).toEqual(['a', 'b']);
  });

  it('gives quantities, times and bytes their one form', () => {
    const { object } = check('Pod', {
      metadata: { creationTimestamp: '2024-01-01T02:00:00+02:00' },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: 0.25, memory: '1024Mi' } } }] },
    });
    expect(object).toMatchObject({
      metadata: { creationTimestamp: '2024-01-01T00:00:00Z' },
      spec: { containers: [{ resources: { requests: { cpu: '250m', memory: '1Gi' } } }] },
    });
  });

  it('leaves raw JSON of any shape to the rules of the kind', () => {
    const value = { spec: { config: [{ opaque: { driver: 'd', parameters: [1] } }] } };
    expect(check('DeviceClass', value, 'resource.k8s.io').object).toMatchObject(value);
  });

  it('reads bytes from a list of numbers, as Go does', () => {
    expect(check('Secret', { data: { a: [104, 105, null] } }).object).toMatchObject({ data: { a: 'aGkA' } });
    expect(() => check('Secret', { data: { a: [1, 256] } })).toThrow('cannot unmarshal number 256 into');
    expect(() => check('Secret', { data: { a: ['x'] } })).toThrow('cannot unmarshal string into');
  });

  it('tells unknown fields with their paths, in order, and leaves them out', () => {
    const { object, unknownFields } = check('Pod', {
      metadata: { colour: 'red' },
      spec: { containers: [{ name: 'c', Image: 'x' }] },
      extra: 1,
    });
    expect(unknownFields.map(faultPathText)).toEqual(['metadata.colour', 'spec.containers[0].Image', 'extra']);
    expect(object).not.toHaveProperty('extra');
  });

  it.each<[kind: string, value: JsonObject, message: string]>([
    [
      'ConfigMap',
      { data: { k: 5 } },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      'ConfigMap',
      { data: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'ConfigMap',
      { metadata: [] },
      'json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
    ],
    [
      'Pod',
      { spec: { containers: {} } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'Pod',
      { spec: { containers: [{ env: [{ value: true }] }] } },
      'json: cannot unmarshal bool into Go struct field EnvVar.spec.containers.env.value of type string',
    ],
    [
      'Pod',
      { spec: { priority: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32',
    ],
    [
      'Pod',
      { spec: { priority: 3e9 } },
      'json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32',
    ],
    ['Secret', { data: { k: '%%%' } }, 'illegal base64 data at input byte 0'],
    [
      'Pod',
      { metadata: { creationTimestamp: 5 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      'Pod',
      { metadata: { uid: 5 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of type types.UID',
    ],
    [
      'Pod',
      { spec: { volumes: [{ iscsi: [] }] } },
      'json: cannot unmarshal array into Go struct field Volume.spec.volumes.VolumeSource.iscsi of type v1.ISCSIVolumeSource',
    ],
    [
      'Pod',
      { spec: { containers: [{ securityContext: { capabilities: { add: 'x' } } }] } },
      'json: cannot unmarshal string into Go struct field Capabilities.spec.containers.securityContext.capabilities.add of type []v1.Capability',
    ],
  ])('refuses a %s with %j', (kind, value, message) => {
    expect(() => check(kind, value)).toThrow(message);
  });
});

describe('checkObject() of a custom resource', () => {
  const text: Schema = { type: 'string' };
  const schema: Schema = {
    type: 'object',
    properties: new Map<string, Schema>([
      ['apiVersion', text],
      ['kind', text],
      ['metadata', builtInSchemas().byName('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')!],
      [
        'spec',
        {
          type: 'object',
          properties: new Map<string, Schema>([
            ['known', text],
            ['free', { type: 'object', preserveUnknownFields: true }],
            ['list', { type: 'array', items: { type: 'object', properties: new Map([['a', text]]) } }],
          ]),
        },
      ],
    ]),
  };

  it('prunes what is unknown, keeps nulls and zeros, and leaves types to validation', () => {
    const value = {
      kind: 'Widget',
      metadata: { name: 'a', labels: null },
      spec: { known: 5, free: { any: [1, null] }, list: [{ a: null, b: 1 }], unknown: 'u' },
      top: 'level',
      status: {},
    };
    const { object, unknownFields } = checkObject(value, schema, { isCustom: true });
    expect(unknownFields.map(faultPathText)).toEqual(['spec.list[0].b', 'spec.unknown', 'status', 'top']);
    expect(object).toEqual({
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { known: 5, free: { any: [1, null] }, list: [{ a: null }] },
    });
  });

  it.each<[metadata: JsonValue, message: string]>([
    ['x', 'json: cannot unmarshal string into Go value of type v1.ObjectMeta'],
    [[], 'json: cannot unmarshal array into Go value of type v1.ObjectMeta'],
    [{ labels: { a: 1 } }, 'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'],
  ])('refuses metadata that is none: %j', (metadata, message) =>
    expect(() => checkObject({ kind: 'Widget', metadata }, schema, { isCustom: true })).toThrow(message),
  );
});

describe('checkObject() takes time in proportion to the object', () => {
  const keys = (size: number): JsonObject =>
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${(i * 7919) % size}`, 'v']));
  const custom = (object: JsonObject, properties: Map<string, Schema>) =>
    checkObject(object, { type: 'object', properties }, { isCustom: true });
  const part: Schema = { type: 'object', properties: new Map([['a', { type: 'string' }]]) };
  it.each<[what: string, make: (size: number) => JsonObject, run: (object: JsonObject) => unknown]>([
    ['labels out of order', (size) => ({ metadata: { labels: keys(size) } }), (object) => check('ConfigMap', object)],
    ['fields nobody knows', keys, (object) => check('ConfigMap', object)],
    [
      'elements with zeros to fill in',
      (size) => ({ spec: { containers: Array.from({ length: size }, () => ({})) } }),
      (object) => check('Pod', object),
    ],
    [
      'a long field nobody knows below a long one',
      (size) => ({ spec: { ['k'.repeat(size)]: keys(size), containers: [keys(size)] } }),
      (object) => check('Pod', object),
    ],
    ['fields that a custom schema does not know', keys, (object) => custom(object, new Map())],
    [
      'elements of a custom schema',
      (size) => ({ list: Array.from({ length: size }, () => ({ a: 'x', b: 1 })) }),
      (object) => custom(object, new Map([['list', { type: 'array', items: part }]])),
    ],
  ])('with %s', async (_what, make, run) => {
    await expectLinear('checkObject()', { make, run, from: 1_000, limit: 4_000 });
  });
});
