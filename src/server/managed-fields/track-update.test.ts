import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import type { JsonObject } from '../../api/json.ts';
import { checkObject } from '../codec/check-object.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { setOfPaths } from './field-sets/field-set.ts';
import { trackUpdate, type UpdateToTrack } from './track-update.ts';

const schemas = builtInSchemas();
const configMap = schemas.byKind('', 'v1', 'ConfigMap')!;
const deployment = schemas.byKind('apps', 'v1', 'Deployment')!;
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;

function track(after: JsonObject, more: Partial<UpdateToTrack> = {}) {
  return trackUpdate({ after, schema: configMap, manager: 'alpha', apiVersion: 'v1', now: at(0), ...more });
}

function stored(object: JsonObject, managedFields: unknown): JsonObject {
  return { ...object, metadata: { ...(object.metadata as JsonObject), uid: 'u', managedFields } as JsonObject };
}

const entry = (manager: string, second: number, fieldsV1: object) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: at(second),
  fieldsType: 'FieldsV1',
  fieldsV1,
});

describe('trackUpdate()', () => {
  const first = { metadata: { name: 'a' }, data: { k: 'v' } };
  const created = stored(first, track(first));

  it('gives the creator all that is set, and nothing the server sets', () => {
    expect(track({ ...first, metadata: { name: 'a', uid: 'u', creationTimestamp: at(0), generation: 1 } })).toEqual([
      entry('alpha', 0, { 'f:data': { '.': {}, 'f:k': {} } }),
    ]);
  });

  it('moves what another writer changes, and keeps what it does not', () => {
    const after = stored({ ...first, data: { k: 'w', l: 'x' } }, undefined);
    expect(track(after, { before: created, manager: 'beta', now: at(1) })).toEqual([
      entry('alpha', 0, { 'f:data': {} }),
      entry('beta', 1, { 'f:data': { 'f:k': {}, 'f:l': {} } }),
    ]);
  });

  it('takes removed fields from everybody, and entries that own nothing away', () => {
    const after = stored({ metadata: { name: 'a' } }, undefined);
    expect(track(after, { before: created, manager: 'beta', now: at(1) })).toBeUndefined();
  });

  it('changes nothing, not even a time, when nothing changed', () => {
    const again = stored(structuredClone(first), undefined);
    expect(track(again, { before: created, manager: 'beta', now: at(1) })).toEqual(track(first));
  });

  it('moves only the time of an owner that writes again', () => {
    const rewritten = stored({ ...first, data: { k: 'w' } }, undefined);
    expect(track(rewritten, { before: created, now: at(1) })).toEqual([
      entry('alpha', 1, { 'f:data': { '.': {}, 'f:k': {} } }),
    ]);
  });

  it.each<[what: string, given: unknown]>([
    ['an unknown operation', [{ ...entry('x', 0, { 'f:data': {} }), operation: 'Patch' }]],
    ['no version', [{ ...entry('x', 0, { 'f:data': {} }), apiVersion: '' }]],
    ['an unknown type of fields', [{ ...entry('x', 0, { 'f:data': {} }), fieldsType: 'FieldsV2' }]],
    ['fields that are a text', [{ ...entry('x', 0, {}), fieldsV1: 'x' }]],
    ['one of two that cannot be read', [entry('x', 0, { 'f:data': {} }), { manager: 'y' }]],
  ])('keeps the stored entries when the body brings %s', (_what, given) => {
    expect(track(stored(first, given), { before: created, now: at(1) })).toEqual(track(first));
  });

  it.each([[[]], [[{}]]])('starts anew when the body brings %j', (given) => {
    expect(track(stored(first, given), { before: created, now: at(1) })).toBeUndefined();
  });

  it('does not track an object in which an element lacks its key', () => {
    const account = schemas.byKind('', 'v1', 'ServiceAccount')!;
    const keyless = { metadata: { name: 'a' }, secrets: [{ kind: 'Secret' }] };
    expect(track(keyless, { schema: account })).toBeUndefined();
    expect(track({ ...created, ...keyless }, { before: created, schema: account })).toBeUndefined();
    const flow = schemas.byKind('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchema')!;
    const status = { conditions: [{ status: 'True' }] };
    const ignored = setOfPaths([['f:status']]);
    expect(track({ spec: { matchingPrecedence: 1 }, status }, { schema: flow, ignored })).toBeUndefined();
  });

  it('does not track an object with which keyless elements were sent, though they are not kept', () => {
    const discarded = { status: { conditions: [{ status: 'True' }] } };
    const flow = schemas.byKind('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchema')!;
    const one = { metadata: { name: 'a' }, spec: { matchingPrecedence: 1 } };
    const before = { ...one, metadata: { name: 'a', managedFields: track(one, { schema: flow }) } } as JsonObject;
    expect(track(before, { before, schema: flow })).toBeDefined();
    expect(track(before, { before, schema: flow, discarded })).toBeUndefined();
  });

  it('tells elements apart by the keys that they have', () => {
    const claim = schemas.byKind('resource.k8s.io', 'v1', 'ResourceClaim')!;
    const device = { driver: 'd', pool: 'p', device: 'x' }; // without the fourth key
    const status = { devices: [device, { ...device, device: 'y' }, { ...device, device: 'y' }] };
    const [owned] = track({ status }, { schema: claim })!;
    const step = (name: string) => `k:{"device":"${name}","driver":"d","pool":"p"}`;
    expect(JSON.stringify(owned)).toContain(JSON.stringify(step('x')));
    expect(JSON.stringify(owned)).toContain(`${JSON.stringify(step('y'))}:{}`);
  });

  it('takes from others what its owner writes again', () => {
    const shared = [
      entry('alpha', 0, { 'f:data': { '.': {}, 'f:k': {} } }),
      entry('beta', 0, { 'f:data': { 'f:k': {} } }),
    ];
    const before = stored({ ...first, data: { k: 'v' } }, shared);
    const after = stored({ ...first, data: { k: 'w' } }, undefined);
    expect(track(after, { before, now: at(1) })).toEqual([{ ...shared[0], time: at(1) }]);
  });

  it('gives its writer what it owned only in part, and moves its time', () => {
    const before = stored(first, [entry('alpha', 0, { 'f:data': { 'f:k': {} } })]);
    const after = stored({ ...first, data: { k: 'w', l: 'x' } }, undefined);
    const want = [entry('alpha', 1, { 'f:data': { 'f:k': {}, 'f:l': {} } })];
    expect(track(after, { before, now: at(1) })).toEqual(want);
  });

  it('leaves an object without entries untracked, except when it is created', () => {
    const untracked = stored(first, undefined);
    expect(track({ ...first, data: { k: 'w' } }, { before: untracked })).toBeUndefined();
    expect(track(stored({ ...first, data: { k: 'w' } }, [{}]), { before: created })).toBeUndefined();
  });

  it('keeps writers of a subresource apart', () => {
    const before = stored(first, track(first));
    const after = stored({ ...first, data: { k: 'w' } }, undefined);
    expect(track(after, { before, subresource: 'status', now: at(1) })).toEqual([
      entry('alpha', 0, { 'f:data': {} }),
      { ...entry('alpha', 1, { 'f:data': { 'f:k': {} } }), subresource: 'status' },
    ]);
  });

  it('does not count what it is told to ignore', () => {
    const ignored = setOfPaths([['f:data']]);
    expect(track(first, { ignored })).toBeUndefined();
  });

  it('owns structs only where a pointer was set, as the reference does', () => {
    const spec = {
      replicas: 1,
      selector: { matchLabels: { app: 'a' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'c', image: 'x', resources: {} }] },
      },
    };
    const { object } = checkObject({ kind: 'Deployment', metadata: { name: 'a' }, spec }, deployment);
    expect(track(object, { schema: deployment })?.[0]?.fieldsV1).toEqual({
      'f:spec': {
        'f:replicas': {},
        'f:selector': {},
        'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
        'f:template': {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
          'f:spec': {
            'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:image': {}, 'f:name': {}, 'f:resources': {} } },
          },
        },
      },
    });
  });

  it('folds the oldest of more than ten writers into ancient-changes', () => {
    let object = created;
    for (let i = 1; i <= 12; i++) {
      const data = { ...(object.data as JsonObject), [`k${i}`]: 'x' };
      const managedFields = track({ ...object, data }, { before: object, manager: `m${i}`, now: at(i) });
      object = stored({ ...object, data }, managedFields);
    }
    const entries = (object.metadata as JsonObject).managedFields as {
      manager: string;
      fieldsV1: JsonObject;
      time: string;
    }[];
    expect(entries.map(({ manager }) => manager)).toEqual([
      'ancient-changes',
      'm4',
      'm5',
      'm6',
      'm7',
      'm8',
      'm9',
      'm10',
      'm11',
      'm12',
    ]);
    expect(entries[0]).toMatchObject({ time: at(3), fieldsV1: { 'f:data': { '.': {}, 'f:k1': {}, 'f:k3': {} } } });
  });

  it.each<[what: string, make: (size: number) => { before: JsonObject; after: JsonObject }]>([
    ['fields', (size) => ({ before: stored(large(size, 'v'), track(large(size, 'v'))), after: large(size, 'w') })],
    [
      'entries that are folded',
      (size) => {
        const entries = Array.from({ length: size }, (_, i) => entry(`m${i}`, 0, { 'f:data': { [`f:k${i}`]: {} } }));
        return { before: stored(large(size, 'v'), entries), after: large(size, 'w') };
      },
    ],
  ])('takes time in proportion to the number of %s', async (_what, make) => {
    const run = ({ before, after }: ReturnType<typeof make>) => track(after, { before });
    await expectLinear('trackUpdate()', { make, run, from: 1_000, limit: 4_000 });
  });

  function large(size: number, value: string): JsonObject {
    return {
      metadata: { name: 'a' },
      data: Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, value])),
    };
  }
});
