import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../api/index.ts';
import { admitted } from '../../admission.testing.ts';
import { limitRanger } from './limit-ranger.ts';

const rangeOf = (...limits: JsonObject[]) => ({ metadata: { name: 'l', namespace: 'ns' }, spec: { limits } });
const box = (name: string, resources: JsonObject = {}, more: JsonObject = {}) => ({ name, resources, ...more });

function create(spec: JsonObject, ...ranges: JsonObject[]) {
  const others = { '/limitranges': ranges };
  return admitted(limitRanger, { resource: 'pods', object: { spec }, others });
}

describe('LimitRanger fills in', () => {
  const usual = rangeOf({
    type: 'Container',
    default: { cpu: '500m', memory: '256Mi' },
    defaultRequest: { cpu: '100m', memory: '256Mi' },
  });

  it('what containers and init containers do not say, and says so', async () => {
    const spec = { containers: [box('a', { requests: { cpu: '1m' } })], initContainers: [box('i')] };
    const { object } = await create(spec, usual);
    expect(object.spec).toEqual({
      containers: [box('a', { requests: { cpu: '1m', memory: '256Mi' }, limits: { cpu: '500m', memory: '256Mi' } })],
      initContainers: [
        box('i', { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '500m', memory: '256Mi' } }),
      ],
    });
    expect(object.metadata.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: memory request for container a; cpu, memory limit for container a; ' +
        'cpu, memory request for init container i; cpu, memory limit for init container i',
    });
  });

  it('nothing where all is said, and nothing in another namespace', async () => {
    const full = { containers: [box('a', { requests: { cpu: '1', memory: '1' }, limits: { cpu: '1', memory: '1' } })] };
    expect((await create(full, usual)).object).toMatchObject({ metadata: { name: 'a' }, spec: full });
    const elsewhere = { ...usual, metadata: { name: 'l', namespace: 'other' } };
    expect((await create({ containers: [box('a')] }, elsewhere)).object.spec).toEqual({ containers: [box('a')] });
  });
});

describe('LimitRanger refuses', () => {
  const container = (cpu: JsonObject) => rangeOf({ type: 'Container', ...cpu });
  const pod = (memory: JsonObject) => rangeOf({ type: 'Pod', ...memory });
  const of = (requests: JsonObject, limits: JsonObject = {}) => ({ containers: [box('c', { requests, limits })] });
  const sidecar = { restartPolicy: 'Always' };

  it.each<[claim: string, range: JsonObject, spec: JsonObject, why: string | undefined]>([
    [
      'nothing within its bounds',
      container({ min: { cpu: '1m' }, max: { cpu: '2' } }),
      of({ cpu: '1' }, { cpu: '2' }),
      undefined,
    ],
    [
      'a small request',
      container({ min: { cpu: '100m' } }),
      of({ cpu: '50m' }),
      'minimum cpu usage per Container is 100m, but request is 50m',
    ],
    [
      'a small limit',
      container({ min: { cpu: '1' } }),
      of({ cpu: '1' }, { cpu: '500m' }),
      'minimum cpu usage per Container is 1, but limit is 500m',
    ],
    [
      'no request',
      container({ min: { cpu: '1' } }),
      of({}),
      'minimum cpu usage per Container is 1.  No request is specified',
    ],
    [
      'a great limit',
      container({ max: { cpu: '1' } }),
      of({}, { cpu: '2' }),
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [
      'a great request',
      container({ max: { cpu: '1' } }),
      of({ cpu: '3' }, { cpu: '1' }),
      'maximum cpu usage per Container is 1, but request is 3',
    ],
    [
      'no limit',
      container({ max: { cpu: '1' } }),
      of({ cpu: '1' }),
      'maximum cpu usage per Container is 1.  No limit is specified',
    ],
    [
      'a great ratio',
      container({ maxLimitRequestRatio: { cpu: '4' } }),
      of({ cpu: '100m' }, { cpu: '1' }),
      'cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000',
    ],
    [
      'a ratio to nothing',
      container({ maxLimitRequestRatio: { cpu: '4' } }),
      of({}, { cpu: '1' }),
      'cpu max limit to request ratio per Container is 4, but no request is specified or request is 0',
    ],
    [
      'a ratio without a limit',
      container({ maxLimitRequestRatio: { cpu: '4' } }),
      of({ cpu: '1' }),
      'cpu max limit to request ratio per Container is 4, but no limit is specified or limit is 0',
    ],
    [
      'a sum',
      pod({ max: { memory: '1Gi' } }),
      { containers: [box('c', { limits: { memory: '600Mi' } }), box('d', { limits: { memory: '600Mi' } })] },
      'maximum memory usage per Pod is 1Gi, but limit is 1200Mi',
    ],
    [
      'the greatest of init containers, with the sidecars before it',
      pod({ max: { memory: '1Gi' } }),
      {
        containers: [box('c', { limits: { memory: '1Mi' } })],
        initContainers: [box('s', { limits: { memory: '512Mi' } }, sidecar), box('i', { limits: { memory: '768Mi' } })],
      },
      'maximum memory usage per Pod is 1Gi, but limit is 1280Mi',
    ],
    [
      'what the Pod says for all',
      pod({ max: { memory: '1Gi' } }),
      { ...of({}, { memory: '1Mi' }), resources: { limits: { memory: '2Gi' } } },
      'maximum memory usage per Pod is 1Gi, but limit is 2Gi',
    ],
    [
      'several things at once, each told once',
      rangeOf({ type: 'Container', min: { cpu: '1' }, max: { cpu: '2' } }),
      { containers: [box('c'), box('d')] },
      '[minimum cpu usage per Container is 1.  No request is specified, maximum cpu usage per Container is 2.  No limit is specified]',
    ],
  ])('%s', async (_claim, range, spec, why) => {
    const made = create(spec, range);
    if (why === undefined) await made;
    else await expect(made).rejects.toMatchObject({ code: 403, message: `pods "a" is forbidden: ${why}` });
  });

  it.each([
    ['1Gi', undefined],
    ['1Mi', 'minimum storage usage per PersistentVolumeClaim is 10Mi, but request is 1Mi'],
    ['3Gi', 'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi'],
  ])('a claim of %s', async (storage, why) => {
    const range = rangeOf({ type: 'PersistentVolumeClaim', min: { storage: '10Mi' }, max: { storage: '2Gi' } });
    const object = { spec: { resources: { requests: { storage } } } };
    const write = { resource: 'persistentvolumeclaims', object, others: { '/limitranges': [range] } };
    if (why === undefined) await admitted(limitRanger, write);
    else await expect(admitted(limitRanger, write)).rejects.toThrow(why);
    const deletionTimestamp = '2024-01-01T00:00:00Z';
    await admitted(limitRanger, { ...write, operation: 'UPDATE', old: { metadata: { deletionTimestamp } } });
  });
});
