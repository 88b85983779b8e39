import { expect, it } from 'vitest';
import type { AnyObject, corev1, Draft } from '../../client/index.ts';
import type { ReconcileContext } from '../../controller/index.ts';
import { createPods, deletePods, MOST_AT_ONCE } from './own-pods.ts';

const owner: AnyObject = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  metadata: { name: 'set', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
};

/** Counts what it is asked for. */
function counting() {
  const asked = { creates: 0, deletes: 0 };
  const pods = {
    create: async () => void asked.creates++,
    delete: async () => void asked.deletes++,
  };
  const context = { namespace: 'default', client: { resource: () => pods } } as unknown as ReconcileContext;
  return { asked, context };
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
