import { expect, it } from 'vitest';
import type { AnyObject, corev1, Draft } from '../../client/index.ts';
import type { ReconcileContext } from '../../controller/index.ts';
import { createPods, deletePods, MOST_AT_ONCE } from './own-pods.ts';

const owner: AnyObject = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  metadata: { name: 'set', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
};

/** Counts what it is asked for; as many are made as `room` says. */
function counting(room = Number.POSITIVE_INFINITY) {
  const asked = { creates: 0, deletes: 0 };
  const told: string[] = [];
  const pods = {
    create: async () => {
      if (++asked.creates > room) throw new Error('no room');
      return { metadata: { name: `set-${asked.creates}` } };
    },
    delete: async () => void asked.deletes++,
  };
  const recorder = {
    normal: (reason: string, message: string) => void told.push(`Normal ${reason} ${message}`),
    warning: (reason: string, message: string) => void told.push(`Warning ${reason} ${message}`),
  };
  const context = { namespace: 'default', client: { resource: () => pods }, recorder } as unknown as ReconcileContext;
  return { asked, told, context };
}

function* endless(): Generator<Draft<corev1.Pod>> {
  for (;;) yield { metadata: { generateName: 'set-' }, spec: { containers: [] } };
}

it('makes so many in one turn, however many there would be', async () => {
  const { asked, context } = counting();
  expect(await createPods(owner, endless(), context)).toBe(true);
  expect(asked.creates).toBe(MOST_AT_ONCE);
});

it('deletes so many in one turn', async () => {
  const { asked, context } = counting();
  const victims = Array.from({ length: 2 * MOST_AT_ONCE }, () => ({ ...owner, spec: {} }) as unknown as corev1.Pod);
  await deletePods(victims, context);
  expect(asked.deletes).toBe(MOST_AT_ONCE);
});

it('asks for more with each that are made, and for no more once one is refused', async () => {
  const { asked, told, context } = counting(2);
  await expect(createPods(owner, endless(), context)).rejects.toThrow('no room');
  expect(asked.creates).toBe(3); // one, and then two
  expect(told).toEqual([
    'Normal SuccessfulCreate Created pod: set-1',
    'Normal SuccessfulCreate Created pod: set-2',
    'Warning FailedCreate Error creating: no room',
  ]);
});
