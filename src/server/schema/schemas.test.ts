import { describe, expect, it } from 'vitest';
import { builtInTypes } from './built-in-types.ts';
import { schemaFromOpenApi } from './from-openapi.ts';
import type { Schema } from './schema.ts';
import { builtInSchemas } from './schemas.ts';

const schemas = builtInSchemas();

/** Walks `a.b[].c{}`: fields, `[]` into the items of a list, `{}` into the values of a map. */
function at(start: Schema | undefined, path: string): Schema | undefined {
  let schema = start;
  for (const step of path.match(/\[\]|\{\}|[^.[\]{}]+/g) ?? []) {
    if (step === '[]') schema = schema?.items;
    else if (step === '{}') schema = schema?.additional === true ? undefined : schema?.additional;
    else schema = schema?.properties?.get(step);
  }
  return schema;
}

describe('the built-in types', () => {
  const deployment = schemas.byKind('apps', 'v1', 'Deployment');
  const pod = schemas.byKind('', 'v1', 'Pod');

  it.each<[path: string, schema: Schema | undefined, want: Partial<Schema>]>([
    ['spec', deployment, { name: 'io.k8s.api.apps.v1.DeploymentSpec', type: 'object', default: {} }],
    ['spec.replicas', deployment, { type: 'integer', format: 'int32' }],
    ['spec.template.spec.containers[]', deployment, { name: 'io.k8s.api.core.v1.Container', required: ['name'] }],
    ['metadata.labels{}', pod, { type: 'string', default: '' }],
    ['metadata.creationTimestamp', pod, { type: 'string', format: 'date-time' }],
    ['metadata.managedFields[].fieldsV1', pod, { type: 'object', preserveUnknownFields: true }],
    ['spec.nodeSelector', pod, { type: 'object', mapType: 'atomic' }],
    ['spec.containers[].resources.limits{}', pod, { type: 'string', format: 'quantity' }],
    ['spec.containers[].livenessProbe.httpGet.port', pod, { type: 'any', format: 'int-or-string', intOrString: true }],
    ['spec.restartPolicy', pod, { type: 'string', enum: ['Always', 'Never', 'OnFailure'] }],
    ['data{}', schemas.byKind('', 'v1', 'Secret'), { type: 'string', format: 'byte' }],
    ['spec.renewTime', schemas.byKind('coordination.k8s.io', 'v1', 'Lease'), { type: 'string', format: 'micro-time' }],
    ['data', schemas.byKind('apps', 'v1', 'ControllerRevision'), { type: 'object', preserveUnknownFields: true }],
  ])('say what %s is', (path, schema, want) => expect(at(schema, path)).toMatchObject(want));

  it('say how lists are merged', () => {
    expect(at(pod, 'spec.containers[].ports')).toMatchObject({
      type: 'array',
      listType: 'map',
      listMapKeys: ['containerPort', 'protocol'],
      patchMergeKey: 'containerPort',
      patchStrategies: ['merge'],
    });
    expect(at(pod, 'spec.volumes')?.patchStrategies).toEqual(['merge', 'retainKeys']);
    expect(at(deployment, 'spec.strategy')?.patchStrategies).toEqual(['retainKeys']);
  });

  it('may contain themselves', () => {
    const crd = schemas.byKind('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
    const root = at(crd, 'spec.versions[].schema.openAPIV3Schema');
    expect(at(root, 'properties{}.properties{}.not')?.name).toBe(root?.name);
  });

  it('are one object where nothing is added, another where something is', () => {
    const probe = at(pod, 'spec.containers[].livenessProbe');
    expect(at(pod, 'spec.containers[].readinessProbe')).toBe(probe);
    expect(at(deployment, 'spec.template.spec')?.properties).toBe(at(pod, 'spec')?.properties);
  });

  it('have no reference that leads nowhere, and a type for every resource', () => {
    const types = builtInTypes();
    for (const { group, version, kind } of types.resources)
      expect(schemas.byKind(group, version, kind), kind).toBeDefined();
    const seen = new Set<string>();
    const visit = (name: string) => {
      if (seen.has(name)) return;
      seen.add(name);
      const json = types.openApi(name);
      expect(json, name).toBeDefined();
      for (const [, other] of JSON.stringify(json).matchAll(/"\$ref":"([^"]+)"/g)) visit(other!);
    };
    for (const { group, version, kind } of types.resources) visit(types.nameOf(group, version, kind)!);
    expect(seen.size).toBeGreaterThan(400);
  });
});

describe('schemaFromOpenApi()', () => {
  it('reads the schema of a custom kind', () => {
    const schema = schemas.custom({
      type: 'object',
      properties: {
        metadata: { type: 'object' },
        spec: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          required: ['size'],
          properties: {
            size: { type: 'integer', minimum: 1, default: 3 },
            port: { 'x-kubernetes-int-or-string': true },
            parts: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string', nullable: true } },
            any: { type: 'object', additionalProperties: true },
          },
        },
      },
    });
    expect(at(schema, 'metadata.ownerReferences')?.listType).toBe('map');
    expect(at(schema, 'spec')).toMatchObject({ required: ['size'], preserveUnknownFields: true });
    expect(at(schema, 'spec.size')).toMatchObject({ type: 'integer', default: 3, source: { minimum: 1 } });
    expect(at(schema, 'spec.port')).toMatchObject({ type: 'any', intOrString: true });
    expect(at(schema, 'spec.parts')?.listType).toBe('set');
    expect(at(schema, 'spec.parts[]')?.nullable).toBe(true);
    expect(at(schema, 'spec.any')?.additional).toBe(true);
    expect(at(schema, 'spec')?.embeddedResource).toBeUndefined();
  });

  it('follows references in either form of the document', () => {
    const target: Schema = { name: 'T', type: 'string' };
    const resolve = (name: string) => (name === 'T' ? target : undefined);
    expect(schemaFromOpenApi({ $ref: '#/components/schemas/T' }, { resolve })).toBe(target);
    expect(schemaFromOpenApi({ default: 'x', allOf: [{ $ref: '#/definitions/T' }] }, { resolve })).toMatchObject({
      name: 'T',
      type: 'string',
      default: 'x',
    });
  });

  it('takes anything where a reference leads nowhere', () => {
    expect(schemaFromOpenApi({ $ref: 'Nowhere' })).toEqual({ type: 'any', preserveUnknownFields: true });
  });
});
