/** Watches of the typed client against the real server, which is restarted, compacted and read slowly. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KubeClient, mergePatch, type WatchEvent } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer, TestServer } from '../../../src/testing/index.ts';
import { accessOf, adminOf, until } from '../../support/client/client-under-test.ts';
import { freePorts } from '../../support/free-ports.ts';

const told = ({ type, object }: WatchEvent) =>
  `${type} ${'name' in object.metadata ? object.metadata.name : ''} ${object.metadata.resourceVersion}`;

it('a watch tells what happens, in order, with its selectors', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const { resourceVersion } = (await maps.list()).metadata;
  const created = await maps.create({ metadata: { name: 'a', labels: { l: 'yes' } } });
  await maps.create({ metadata: { name: 'other' } });
  const changed = await maps.patch('a', mergePatch({ data: { x: 'y' } }));
  const left = await maps.patch('a', mergePatch({ metadata: { labels: { l: null } } }));
  const seen: string[] = [];
  for await (const event of client.watch(configMaps, { resourceVersion, labelSelector: { l: 'yes' } })) {
    seen.push(told(event));
    if (event.type === 'DELETED') break;
  }
  expect(seen).toEqual([
    `ADDED a ${created.metadata.resourceVersion}`,
    `MODIFIED a ${changed.metadata.resourceVersion}`,
    `DELETED a ${left.metadata.resourceVersion}`,
  ]);
});

it('initial events come first and end with their mark', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  for (const name of ['b', 'a']) await maps.create({ metadata: { name } });
  const seen: WatchEvent[] = [];
  const stop = new AbortController();
  for await (const event of client.watch(configMaps, { sendInitialEvents: true, signal: stop.signal })) {
    seen.push(event);
    if (event.type === 'BOOKMARK' && event.isInitialEventsEnd) break;
  }
  expect(seen.map((event) => told(event).split(' ').slice(0, 2).join(' '))).toEqual([
    'ADDED a',
    'ADDED b',
    'BOOKMARK ',
  ]);
});

it('a watch ends cleanly with its time, and by abort with the reason', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  for await (const _ of client.watch(configMaps, { resourceVersion: '1', timeoutSeconds: 1 }));
  const stop = new AbortController();
  const watch = client.watch(configMaps, {
    resourceVersion: '1',
    signal: stop.signal,
    onOpen: () => stop.abort(new Error('open, and enough')),
  });
  await expect(watch.next()).rejects.toThrow('open, and enough');
});

it('restarts of the server on the same port lose nothing and repeat nothing', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-resume-'));
  try {
    const [port] = await freePorts(1);
    const server = new TestServer({ dataDir, securePort: port! });
    await server.start();
    await using client = new KubeClient(await accessOf(server));
    const maps = client.resource(configMaps);
    const { resourceVersion } = (await maps.list()).metadata;
    const seen: string[] = [];
    const stop = new AbortController();
    const backoff = { minMs: 5, maxMs: 50 };
    const run = (async () => {
      for await (const event of client.watchResuming(configMaps, { resourceVersion, signal: stop.signal, backoff }))
        if (event.type !== 'BOOKMARK') seen.push(told(event));
    })();
    const written: string[] = [];
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 10; i++) {
        const { metadata } = await maps.create({ metadata: { name: `m-${round}-${i}` } });
        written.push(`ADDED ${metadata.name} ${metadata.resourceVersion}`);
      }
      if (round % 2 === 0) await until(() => seen.length === written.length); // else it is cut off while it reads
      if (round < 3) await server.restart();
    }
    await until(() => seen.length >= written.length);
    stop.abort(new Error('over'));
    await expect(run).rejects.toThrow('over');
    expect(seen).toEqual(written);
    await server[Symbol.asyncDispose]();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 60_000);

it('history that is compacted away ends a resumed watch with Expired', async () => {
  await using server = await startTestServer({ autoCompaction: { mode: 'periodic', retentionMs: 100 } });
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const { resourceVersion } = (await maps.create({ metadata: { name: 'a' } })).metadata;
  await until(async () => {
    await maps.patch('a', mergePatch({ data: { v: String(Math.random()) } }));
    return maps.list({ resourceVersion, resourceVersionMatch: 'Exact' }).then(
      () => false,
      (err: { code: number }) => err.code === 410,
    );
  });
  await server.restart(); // so that no cache knows more than the store
  await using again = await adminOf(server);
  await expect(again.watchResuming(configMaps, { resourceVersion }).next()).rejects.toMatchObject({
    name: 'ApiError',
    code: 410,
    reason: 'Expired',
  });
});
