/** Events about objects whose names are no names of Events: roles with colons, what has no name yet, names cut at a dot. */
import { expect, it } from 'vitest';
import { events } from '../../src/client/objects/generated/core-v1.ts';
import { EventRecorder } from '../../src/controller/index.ts';
import { startTestServer } from '../../src/testing/index.ts';
import { adminOf } from '../support/client/client-under-test.ts';

it.each([
  ['a role with colons', 'system:node-problem-detector'],
  ['capitals and blanks', 'Some Group'],
  ['a long one with a dot where it is cut', `${'a'.repeat(235)}.${'b'.repeat(10)}`],
  ['none yet', ''],
])('%s', async (_what, name) => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  await using recorder = new EventRecorder(client, { onError: (error) => void errors.push(error) });
  const about = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, uid: 'u' } };
  recorder.record('test', about, { type: 'Normal', reason: 'Noted', message: 'it is there' });
  await recorder.flushed();
  expect(errors).toEqual([]);
  const { items } = await client.resource(events, 'default').list();
  expect(items.map(({ involvedObject }) => involvedObject.name ?? '')).toEqual([name]);
});
