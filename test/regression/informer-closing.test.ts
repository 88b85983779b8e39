/** Closing an informer ends every wait for it, waits for nobody who may never come, and leaves the next one its place. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer, InformerFactory, Transport } from '../../src/client/advanced.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../src/testing/index.ts';
import { answer, type ScriptedServer, scriptedServer } from '../support/client/client-scripted-server.ts';
import { adminOf, until } from '../support/client/client-under-test.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const reflector = { backoff: { minMs: 1, maxMs: 5 } };

/** Answers one request about the cluster, if there is a checkpoint, and gives the watch one object. */
async function serve(server: ScriptedServer, requests: number): Promise<void> {
  for (let n = 0; n < requests; n++) {
    const exchange = await server.next();
    if (exchange.request.url!.endsWith('/kube-system')) answer(exchange, 200, { metadata: { uid: 'cluster' } });
    else {
      const metadata = { name: 'a', namespace: 'default', uid: 'a', resourceVersion: '7' };
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      const mark = { metadata: { resourceVersion: '9', annotations } };
      exchange.response.writeHead(200, { 'content-type': 'application/json' });
      for (const event of [
        { type: 'ADDED', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } },
        { type: 'BOOKMARK', object: mark },
      ])
        exchange.response.write(`${JSON.stringify(event)}\n`);
    }
  }
}

it('a handler that waits for a version that will not come does not hold it up', async () => {
  await using server = await scriptedServer();
  const informer = new Informer({ transport: server.transport() }, configMaps, { reflector });
  await serve(server, 1);
  let waiting: Promise<void> | undefined;
  informer.subscribe(() => {
    waiting = informer.reached('99');
    return waiting;
  });
  await until(() => waiting !== undefined);
  await informer[Symbol.asyncDispose]();
  await expect(waiting).rejects.toThrow('The informer of configmaps was closed');
});

it('a server that does not say which cluster it is does not hold it up, and costs no checkpoint', async () => {
  await using server = await scriptedServer();
  server.answersAside = false;
  await using dir = await temporaryDir();
  const checkpoint = { file: join(dir.path, 'maps'), flushMs: 5 };
  const first = new Informer({ transport: server.transport() }, configMaps, { reflector, checkpoint });
  await serve(server, 2);
  await first.synced();
  await until(() => first.metrics.checkpoint!.commits > 0);
  await first[Symbol.asyncDispose]();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const elsewhere = new URL(server.url); // by another name it may be another cluster, which is asked before anything else
  elsewhere.hostname = 'localhost';
  for (const url of [server.url, elsewhere]) {
    await using transport = new Transport({ server: url, namespace: 'default' });
    const informer = new Informer({ transport }, configMaps, { reflector, checkpoint, onError });
    expect((await server.next()).request.url).toContain('/kube-system'); // and there is no answer
    await informer[Symbol.asyncDispose]();
  }
  expect(errors).toEqual([]);
  await using last = new Informer({ transport: server.transport() }, configMaps, { reflector, checkpoint, onError });
  await last.synced();
  expect(last.metrics.checkpoint!.restored).toBe(1);
  await serve(server, 2);
});

it('one that is acquired again while the last is closing has the checkpoint after it', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const maps = client.resource(configMaps);
  await maps.create({ metadata: { name: 'a' } });
  const checkpoint = { file: `${dir.path}/`, flushMs: 5 };
  const factory = new InformerFactory(client, { checkpoint, onError, reflector });
  const first = factory.acquire(configMaps);
  await until(() => first.informer.metrics.checkpoint!.commits > 0);
  let finish = () => {};
  let isHandling = false;
  first.informer.subscribe(() => {
    isHandling = true;
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  await until(() => isHandling);
  const closing = first[Symbol.asyncDispose](); // it takes until the handler is through
  const handle = factory.acquire(configMaps);
  const synced = handle.informer.synced();
  for (let n = 0; n < 30; n++) await maps.list(); // time enough to find the lock
  expect(handle.informer.freshness.state).toBe('syncing');
  // One that is given back before it could begin leaves the next one to wait for the first all the same.
  const rejected = expect(synced).rejects.toThrow('was closed');
  await handle[Symbol.asyncDispose]();
  await rejected;
  const again = factory.acquire(configMaps);
  for (let n = 0; n < 30; n++) await maps.list();
  expect(again.informer.freshness.state).toBe('syncing');
  finish();
  await closing;
  await again.informer.synced();
  expect(errors).toEqual([]);
  expect(again.informer.metrics.checkpoint!.restored).toBeGreaterThan(0);
});

it('a factory that is closed waits for those that close already, and for those that wait for them', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  const factory = new InformerFactory(client, { checkpoint: `${dir.path}/`, onError, reflector });
  const first = factory.acquire(configMaps);
  let finish = () => {};
  let isHandling = false;
  first.informer.subscribe(() => {
    isHandling = true;
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  await until(() => isHandling);
  const closing = first[Symbol.asyncDispose]();
  const { informer } = factory.acquire(configMaps);
  let isClosed = false;
  const closed = factory[Symbol.asyncDispose]().then(() => {
    isClosed = true;
  });
  for (let n = 0; n < 10; n++) await client.resource(configMaps).list();
  expect(isClosed).toBe(false);
  finish();
  await closed;
  await closing;
  expect(informer.freshness.state).toBe('stopped');
  expect(errors).toEqual([]);
});

it('one that could not be made is not among those that run', async () => {
  await using server = await scriptedServer();
  await using dir = await temporaryDir();
  const transport = server.transport();
  const labelSelector = { matchExpressions: [{ key: 'a', operator: 'Is' as 'In', values: ['b'] }] };
  expect(() => new Informer({ transport }, configMaps, { labelSelector, checkpoint: join(dir.path, 'maps') })).toThrow(
    '"Is"',
  );
  expect(transport.observers.informers.size).toBe(0);
});

it('streams of one that a bug has stopped throw the bug', async () => {
  await using server = await scriptedServer();
  let rolls = 0;
  const random = () => {
    if (++rolls > 1) throw new TypeError('no dice');
    return 0;
  };
  await using informer = new Informer({ transport: server.transport({ random }) }, configMaps, {
    ...{ reflector, onError: () => {} },
  });
  const read = async (stream: AsyncIterable<unknown>) => {
    for await (const _ of stream);
  };
  const reading = [read(informer.events()), read(informer.snapshots())];
  for (const one of [...reading, read(informer.events()), read(informer.snapshots())])
    await expect(one).rejects.toThrow(TypeError);
});

it('whatever is disposed can be closed by a call too, as often as one likes', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const factory = client.informers();
  const handle = factory.acquire(configMaps);
  const { informer } = handle;
  const subscription = informer.subscribe(() => {});
  await subscription.close();
  await handle.close();
  expect(() => informer.subscribe(() => {})).toThrow();
  await factory.close();
  const own = client.informer(configMaps);
  await own.close();
  await own.close();
  await expect(own.synced()).rejects.toThrow();
});
