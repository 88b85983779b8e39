/** A callback that throws, or whose promise rejects when nobody waits for it, is a warning: it never ends a process. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer } from '../../src/client/advanced.ts';
import { versionCheckpoint } from '../../src/client/index.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { scriptedServer } from '../support/client/client-scripted-server.ts';
import { until } from '../support/client/client-under-test.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { listenToProcess, rejecting, throwing } from './unhandled.ts';

const { warnings, rejections } = listenToProcess();

it.each([
  ['thrown', throwing],
  ['rejected', rejecting],
])('of a checkpoint of one version: %s', async (message, onError) => {
  await using dir = await temporaryDir();
  const clock = new FakeClock();
  await using checkpoint = versionCheckpoint(join(dir.path, 'no', 'such', 'folder'), { everyMs: 1, clock, onError });
  checkpoint.save('1');
  await clock.advance(1);
  await until(() => warnings.length > 0 || rejections.length > 0);
  expect(rejections).toEqual([]);
  expect(warnings).toEqual([message]);
});

it('of an observer', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  using _ = transport.observers.add({
    onInformerState: rejecting,
  });
  await using informer = new Informer({ transport }, configMaps);
  await server.next();
  await until(() => warnings.length > 0 || rejections.length > 0);
  expect(rejections).toEqual([]);
  expect(warnings).toEqual(['Cannot ask "onInformerState" of an observer of the client: rejected']);
  expect(informer.isSynced).toBe(false);
});

it('of an informer', async () => {
  await using server = await scriptedServer();
  {
    await using informer = new Informer({ transport: server.transport() }, configMaps, {
      ...{ onFreshness: rejecting, onError: rejecting, indexers: { odd: throwing as () => string[] } },
    });
    informer.subscribe(throwing, { onError: rejecting });
    const { response } = await server.next();
    const metadata = { name: 'a', namespace: 'default', uid: 'a', resourceVersion: '7' };
    const mark = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${JSON.stringify({ type: 'ADDED', object: { metadata } })}\n`);
    response.write(`${JSON.stringify({ type: 'BOOKMARK', object: mark })}\n`);
    await until(() => informer.metrics.handlers[0]!.errors === 1);
  }
  // Each of them once, however often it failed.
  await until(() => warnings.length + rejections.length >= 3);
  const about = 'of the informer of configmaps';
  expect(warnings.map((line) => line.replace(/:[^:]*$/, '')).sort()).toEqual([
    `Cannot ask "onError of handler configmaps-1" ${about} about "default/a"`,
    `Cannot ask "onError" ${about}`,
    `Cannot ask "onFreshness" ${about}`,
  ]);
  expect(rejections).toEqual([]);
});
