import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { StatusError } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { type ApplyRequest, applyPatch } from './apply-patch.ts';
import { setOfPaths } from './field-sets/field-set.ts';
import { trackUpdate } from './track-update.ts';

const schemas = builtInSchemas();
const configMap = schemas.byKind('', 'v1', 'ConfigMap')!;
const pod = schemas.byKind('', 'v1', 'Pod')!;
const type = { apiVersion: 'v1', kind: 'ConfigMap' };
const now = '2026-01-01T00:00:00Z';

function apply(manager: string, body: JsonObject, live?: JsonObject, more: Partial<ApplyRequest> = {}): JsonObject {
  const object = { ...type, metadata: { name: 'a' }, ...body };
  return applyPatch({
    ...(live && { live }),
    body: object,
    schema: configMap,
    manager,
    apiVersion: 'v1',
    now,
    ...more,
  });
}

const owners = (object: JsonObject) =>
  Object.fromEntries(
    ((object.metadata as JsonObject).managedFields as { manager: string; fieldsV1: JsonObject }[]).map(
      ({ manager, fieldsV1 }) => [manager, fieldsV1],
    ),
  );

function refusal(run: () => unknown): StatusError {
  try {
    run();
  } catch (err) {
    expect(err).toBeInstanceOf(StatusError);
    return err as StatusError;
  }
  throw new Error('not refused');
}

describe('applyPatch()', () => {
  it('creates, and owns what the body names', () => {
    const object = apply('alpha', { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } });
    expect(object.data).toEqual({ k: 'v' });
    expect(owners(object)).toEqual({ alpha: { 'f:data': { 'f:k': {} }, 'f:metadata': { 'f:labels': { 'f:x': {} } } } });
  });

  it('removes what it no longer applies, unless somebody else owns it', () => {
    const first = apply('alpha', { data: { a: '1', both: 'x' } });
    const second = apply('beta', { data: { b: '2', both: 'x' } }, first);
    expect(second.data).toEqual({ a: '1', b: '2', both: 'x' });
    const third = apply('alpha', { data: {} }, second);
    expect(third.data).toEqual({ b: '2', both: 'x' });
    expect(owners(third)).toEqual({ alpha: { 'f:data': {} }, beta: { 'f:data': { 'f:b': {}, 'f:both': {} } } });
    expect(apply('alpha', {}, apply('alpha', { data: { k: 'v' } }))).not.toHaveProperty('data');
  });

  it('refuses to change what others own, and says what', () => {
    const live = apply('alpha', { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v', l: 'w' } });
    const one = refusal(() => apply('beta', { data: { k: 'other' } }, live));
    expect(one.status).toMatchObject({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "alpha": .data.k',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "alpha"', field: '.data.k' }] },
    });
    const many = { metadata: { name: 'a', labels: { x: 'other' } }, data: { k: 'other', l: 'other' } };
    expect(refusal(() => apply('beta', many, live)).message).toBe(
      'Apply failed with 3 conflicts: conflicts with "alpha":\n- .data.k\n- .data.l\n- .metadata.labels.x',
    );
  });

  it('names the version of a plain writer it conflicts with', () => {
    const live = { ...type, metadata: { name: 'a', uid: 'u' }, data: { k: 'v' } };
    const managedFields = trackUpdate({ after: live, schema: configMap, manager: 'creator', apiVersion: 'v1', now });
    const owned = { ...live, metadata: { ...live.metadata, managedFields: managedFields as never } };
    expect(refusal(() => apply('alpha', { data: { k: 'x' } }, owned)).message).toBe(
      'Apply failed with 1 conflict: conflict with "creator" using v1: .data.k',
    );
    const shared = apply('alpha', { data: { k: 'v' } }, owned);
    expect(owners(shared)).toEqual({
      alpha: { 'f:data': { 'f:k': {} } },
      creator: { 'f:data': { '.': {}, 'f:k': {} } },
    });
    expect(((shared.metadata as JsonObject).managedFields as JsonObject[])[0]).not.toHaveProperty('time');
  });

  it('takes over by force', () => {
    const live = apply('alpha', { data: { k: 'v', l: 'w' } });
    const taken = apply('beta', { data: { k: 'other' } }, live, { force: true });
    expect(taken.data).toEqual({ k: 'other', l: 'w' });
    expect(owners(taken)).toEqual({ alpha: { 'f:data': { 'f:l': {} } }, beta: { 'f:data': { 'f:k': {} } } });
  });

  it('finds an owner for what was there before anybody applied', () => {
    const live = { ...type, metadata: { name: 'a', uid: 'u' }, data: { k: 'v' } };
    expect(owners(apply('alpha', { data: { l: 'w' } }, live))).toEqual({
      alpha: { 'f:data': { 'f:l': {} } },
      'before-first-apply': { 'f:data': { '.': {}, 'f:k': {} } },
    });
  });

  describe('of values without a schema', () => {
    const free = { type: 'any', preserveUnknownFields: true } as const;
    const schema: Schema = {
      type: 'object',
      properties: new Map<string, Schema>([
        ['apiVersion', { type: 'string' }],
        ['kind', { type: 'string' }],
        ['metadata', configMap.properties!.get('metadata')!],
        ['spec', free],
      ]),
    };
    const applied = (manager: string, spec: JsonValue, live?: JsonObject, force = false) =>
      apply(manager, { spec }, live, { schema, force });

    it('writes a changed number, and conflicts with whoever owns it', () => {
      const live = applied('alpha', { replicas: 1, list: [1] });
      expect(applied('alpha', { replicas: 2, list: [1, 2] }, live).spec).toEqual({ replicas: 2, list: [1, 2] });
      expect(refusal(() => applied('beta', { replicas: 2 }, live)).message).toBe(
        'Apply failed with 1 conflict: conflict with "alpha": .spec.replicas',
      );
      expect(owners(applied('beta', { replicas: 2 }, live, true))).toEqual({
        alpha: { 'f:spec': { 'f:list': {} } },
        beta: { 'f:spec': { 'f:replicas': {} } },
      });
    });

    it('counts a change of type as a change of the value and the end of what was in it', () => {
      const live = applied('alpha', { a: { b: 1 } });
      expect(refusal(() => applied('beta', { a: 1 }, live)).message).toContain('1 conflict');
      const taken = applied('beta', { a: 1 }, live, true);
      expect([taken.spec, owners(taken)]).toEqual([{ a: 1 }, { beta: { 'f:spec': { 'f:a': {} } } }]);
    });
  });

  it('takes nothing from others by null', () => {
    const live = apply('alpha', { data: { k: 'v' } });
    const same = apply('beta', { data: null }, live);
    expect(same.data).toEqual({ k: 'v' });
    expect(owners(same)).toEqual({ alpha: { 'f:data': { 'f:k': {} } }, beta: { 'f:data': {} } });
    const kind = { kind: 'Pod' };
    const mine = apply('alpha', { ...kind, spec: { containers: [{ name: 'a' }] } }, undefined, { schema: pod });
    const theirs = apply('beta', { ...kind, spec: { containers: null } }, mine, { schema: pod });
    expect(theirs.spec).toEqual({ containers: [{ name: 'a' }] });
  });

  it('keeps duplicates of a list that was stored with them, and puts one in their place when it is applied', () => {
    const kind = { kind: 'Pod' };
    const env = (name: string, value: string) => ({ name, value });
    const stored = (list: JsonValue[]) => ({
      ...type,
      ...kind,
      metadata: { name: 'a', uid: 'u' },
      spec: { containers: [{ name: 'c', env: list }] },
    });
    const live = stored([env('A', '1'), env('B', '1'), env('A', '2')]);
    const applied = (list: JsonValue[]) =>
      apply('alpha', { ...kind, spec: { containers: [{ name: 'c', env: list }] } }, live, { schema: pod, force: true });
    expect(applied([env('C', '1')]).spec).toEqual(
      stored([env('A', '1'), env('B', '1'), env('A', '2'), env('C', '1')]).spec,
    );
    expect(applied([env('A', '3')]).spec).toEqual(stored([env('A', '3'), env('B', '1')]).spec);
    const before = owners(applied([env('C', '1')]))['before-first-apply'];
    expect(JSON.stringify(before)).toContain('"k:{\\"name\\":\\"A\\"}":{},');
  });

  it('puts a list in another order if that is all that is asked for', () => {
    const kind = { kind: 'Pod' };
    const spec = (names: string[]) => ({ ...kind, spec: { containers: names.map((name) => ({ name })) } });
    const live = apply('alpha', spec(['a', 'b']), undefined, { schema: pod });
    expect(apply('alpha', spec(['b', 'a']), live, { schema: pod }).spec).toEqual(spec(['b', 'a']).spec);
  });

  describe('after client-side apply', () => {
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const clientApplied = (data: JsonObject, lastApplied: JsonObject) => {
      const annotations = { [annotation]: JSON.stringify({ ...type, metadata: { name: 'a' }, data: lastApplied }) };
      const live = { ...type, metadata: { name: 'a', uid: 'u', annotations }, data };
      const managedFields = trackUpdate({ after: live, schema: configMap, manager: 'old', apiVersion: 'v1', now });
      return { ...live, metadata: { ...live.metadata, managedFields: managedFields as never } };
    };

    it('lets kubectl change what it applied, and keeps the annotation up to date', () => {
      const object = apply('kubectl', { data: { k: '2<' } }, clientApplied({ k: '1' }, { k: '1' }));
      expect(object.data).toEqual({ k: '2<' });
      expect((object.metadata as { annotations: JsonObject }).annotations[annotation]).toBe(
        '{"apiVersion":"v1","data":{"k":"2\\u003c"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
      );
      expect(owners(object)).toMatchObject({ kubectl: { 'f:data': { 'f:k': {} } } });
    });

    it('conflicts over what was changed since, and for every other manager', () => {
      const live = clientApplied({ k: '1', l: 'other' }, { k: '1', l: '1' });
      expect(refusal(() => apply('kubectl', { data: { k: '2', l: '2' } }, live)).message).toBe(
        'Apply failed with 1 conflict: conflict with "old" using v1: .data.l',
      );
      expect(refusal(() => apply('alpha', { data: { k: '2', l: '2' } }, live)).message).toContain('2 conflicts');
    });
  });

  it('merges keyed lists, and removes an element with its last owner', () => {
    const request = { schema: pod };
    const kind = { kind: 'Pod' };
    const container = (name: string, more: JsonObject = {}) => ({ name, ...more });
    const first = apply(
      'alpha',
      { ...kind, spec: { containers: [container('a', { image: 'x' }), container('b')] } },
      undefined,
      request,
    );
    const second = apply(
      'beta',
      { ...kind, spec: { containers: [container('c'), container('a', { env: [{ name: 'E' }] })] } },
      first,
      request,
    );
    expect(second.spec).toEqual({
      containers: [container('c'), container('a', { image: 'x', env: [{ name: 'E' }] }), container('b')],
    });
    const third = apply('alpha', { ...kind, spec: { containers: [container('d')] } }, second, request);
    expect(third.spec).toEqual({
      containers: [container('c'), container('a', { env: [{ name: 'E' }] }), container('d')],
    });
  });

  it('makes nobody an owner of what the resource does not take, and no conflict of it', () => {
    const object = apply('alpha', { kind: 'Pod', spec: { nodeName: 'n' }, status: { phase: 'Running' } }, undefined, {
      schema: pod,
      ignored: setOfPaths([['f:status']]),
    });
    expect(owners(object)).toEqual({ alpha: { 'f:spec': { 'f:nodeName': {} } } });
    const phase = (name: string) => ({ kind: 'Pod', status: { phase: name } });
    const scheduled = apply('beta', phase('Pending'), object, { schema: pod, ignored: setOfPaths([['f:spec']]) });
    const again = apply('alpha', { ...phase('Failed'), spec: { nodeName: 'm' } }, scheduled, {
      schema: pod,
      ignored: setOfPaths([['f:status']]),
    });
    expect(owners(again)).toMatchObject({ alpha: { 'f:spec': {} }, beta: { 'f:status': { 'f:phase': {} } } });
  });

  it.each<[body: JsonObject, message: string]>([
    [
      { unknown: 1 },
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .unknown: field not declared in schema',
    ],
    [
      { data: { k: 1 } },
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:1}',
    ],
  ])('refuses %j', (body, message) => {
    const err = refusal(() => apply('alpha', body));
    expect([err.code, err.message]).toEqual([500, message]);
  });

  it.each<[spec: JsonObject, message: string]>([
    [
      { containers: [{ name: 'c', command: ['a', ['b']] }] },
      '.spec.containers[name="c"].command[1]: expected string, got &value.valueUnstructured{Value:["b"]}',
    ],
    [{ tolerations: [{ key: 'k', kex: 1 }] }, '.spec.tolerations[0].kex: field not declared in schema'],
  ])('looks into what is owned as a whole: %j', (spec, message) => {
    const err = refusal(() => apply('alpha', { kind: 'Pod', spec }, undefined, { schema: pod }));
    expect(err.message).toContain(message);
  });

  const data = (size: number, value = 'v') =>
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, `${value}${i}`]));

  it('tells of a thousand conflicts, and how many there are', () => {
    const live = apply('alpha', { data: data(5_000) });
    const err = refusal(() => apply('beta', { data: data(5_000, 'w') }, live));
    expect(err.message).toMatch(
      /^Apply failed with 5000 conflicts: conflicts with "alpha":\n- \.data\.k0\n- \.data\.k1\n/,
    );
    expect(err.status.details?.causes).toHaveLength(1_000);
    expect(err.status.details?.causes?.[0]).toEqual({
      reason: 'FieldManagerConflict',
      message: 'conflict with "alpha"',
      field: '.data.k0',
    });
  });

  /** As a client may send them: one manager for each field. */
  const owned = (size: number, operation: string) => ({
    ...type,
    metadata: {
      name: 'a',
      managedFields: Object.keys(data(size)).map((key) => ({
        manager: key,
        operation,
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [`f:${key}`]: {} } },
      })),
    },
    data: data(size),
  });

  it.each<[what: string, make: (size: number) => { live: JsonObject; body: JsonObject; force?: boolean }]>([
    ['fields', (size) => ({ live: apply('me', { data: data(size) }), body: { data: data(size, 'w') } })],
    ['managers', (size) => ({ live: owned(size, 'Apply'), body: { data: { other: 'x' } } })],
    [
      'managers that lose a field each',
      (size) => ({ live: owned(size, 'Apply'), body: { data: data(size, 'w') }, force: true }),
    ],
    ['managers that are folded', (size) => ({ live: owned(size, 'Update'), body: { data: { other: 'x' } } })],
  ])('takes time in proportion to the number of %s', async (_what, make) => {
    const run = ({ live, body, force = false }: ReturnType<typeof make>) => apply('me', body, live, { force });
    await expectLinear('applyPatch()', { make, run, from: 1_000, limit: 4_000 });
  });

  it('takes time in proportion to an object that is deep', async () => {
    const schema = { type: 'object' as const, preserveUnknownFields: true };
    const make = (size: number) => {
      let below: JsonObject = data(size);
      for (let i = 0; i < size / 20; i++) below = { below, ...data(20) };
      return { ...type, metadata: { name: 'a' }, ...below };
    };
    const run = (body: JsonObject) => applyPatch({ body, schema, manager: 'm', apiVersion: 'v1', now });
    await expectLinear('applyPatch()', { make, run, from: 1_000, limit: 4_000 });
  });
});
