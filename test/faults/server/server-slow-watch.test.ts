/** Watchers that do not read: they cost the server little and the others nothing, and miss nothing silently. */
import { expect, it } from 'vitest';
import {
  type ApiClient,
  type Query,
  type StreamEvent,
  startTestServer,
  type WatchStream,
} from '../../../src/testing/index.ts';
import { CONFIG_MAPS } from '../../support/server/writers.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { startServerProcess } from './server-under-fire.ts';

const MIB = 1024 * 1024;
const WRITES = 40;
const SLOW = 40;
const AS_TABLE = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const BIG = 'x'.repeat(MIB / 2);

it.each(['http1', 'http2'] as const)(
  '%s: watchers that stop reading do not hold up or bloat the server',
  async (protocol) => {
    await using folder = await temporaryDir();
    await using server = await startServerProcess(folder.path);
    const { client } = server;
    const { metadata } = await client.list(CONFIG_MAPS);
    const from = { resourceVersion: metadata.resourceVersion };
    // A connection each: a client that reads nothing of one stream starves the others of its own connection.
    const open = (query: Query, headers = {}) =>
      server.connect({ protocol }).watch(CONFIG_MAPS, { ...from, ...query }, { headers });
    const slow = await Promise.all(Array.from({ length: 2 }, () => open({})));
    // Of a table no two watchers share a byte: what is kept for one of them is kept for it alone.
    const tables = await Promise.all(Array.from({ length: SLOW }, () => open({ includeObject: 'Object' }, AS_TABLE)));
    const quick = await server.connect({ protocol }).watch(CONFIG_MAPS, from);
    const before = await server.memoryBytes();
    const written: string[] = [];
    for (let i = 0; i < WRITES; i++) {
      const object = { metadata: { name: 'big' }, data: { big: BIG, value: String(i) } };
      const { metadata } =
        i === 0 ? await client.create(CONFIG_MAPS, object) : await client.update(`${CONFIG_MAPS}/big`, object);
      written.push(metadata.resourceVersion!);
      expect((await quick.next())?.object.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    // 20 MiB went to each of 40: kept for all of them it would be 800 MiB. The window alone may take 64 MiB.
    expect((await server.memoryBytes()) - before).toBeLessThan(350 * MIB);
    for (const watch of slow) await catchUp(watch, client, written);
    for (const watch of [...slow, ...tables]) watch.close();
    expect((await client.list(CONFIG_MAPS)).items).toHaveLength(1);
  },
  90_000,
);

it.each(['http1', 'http2'] as const)('%s: a watch goes on over a long way of big changes', async (protocol) => {
  await using server = await startTestServer();
  const client = server.connect({ protocol });
  const { resourceVersion } = (await client.list(CONFIG_MAPS)).metadata;
  const written: string[] = [];
  for (let i = 0; i < 50; i++) {
    const object = { metadata: { name: `big-${i}` }, data: { big: BIG } };
    written.push((await client.create(CONFIG_MAPS, object)).metadata.resourceVersion!);
  }
  await using fromWindow = await client.watch(CONFIG_MAPS, { resourceVersion });
  expect(versionsOf(await fromWindow.take(written.length))).toEqual(written);
  await server.restart();
  await using fromLog = await server.connect({ protocol }).watch(CONFIG_MAPS, { resourceVersion });
  expect(versionsOf(await fromLog.take(written.length))).toEqual(written);
});

it.each(['http1', 'http2'] as const)('%s: a watcher that reads survives a burst of big changes', async (protocol) => {
  await using server = await startTestServer();
  const writer = server.connect({ protocol: 'http2' });
  await using watch = await server.connect({ protocol }).watch(CONFIG_MAPS, { resourceVersion: '0' });
  const create = (i: number) => writer.create(CONFIG_MAPS, { metadata: { name: `big-${i}` }, data: { big: BIG } });
  const writing = Promise.all(Array.from({ length: 80 }, (_, i) => create(i)));
  const [events, made] = await Promise.all([watch.take(80), writing]);
  const versions = made.map(({ metadata }) => metadata.resourceVersion!);
  expect(versionsOf(events)).toEqual(versions.sort((a, b) => Number(a) - Number(b)));
});

function versionsOf(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ object }) => object.metadata.resourceVersion);
}

/** Everything, in order, from this watch and those that take it up where it broke off; each must get further. */
async function catchUp(first: WatchStream, client: ApiClient, written: readonly string[]): Promise<void> {
  const seen: string[] = [];
  for (let watch = first; seen.length < written.length; ) {
    const before = seen.length;
    for (;;) {
      const event = await watch.next().catch(() => undefined);
      if (!event) break;
      seen.push(event.object.metadata.resourceVersion!);
      if (seen.length === written.length) break;
    }
    watch.close();
    expect(seen).toEqual(written.slice(0, seen.length));
    expect(seen.length).toBeGreaterThan(before);
    if (seen.length < written.length) watch = await client.watch(CONFIG_MAPS, { resourceVersion: seen.at(-1)! });
  }
}
