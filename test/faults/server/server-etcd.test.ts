/** A server whose etcd dies, hangs, or is out of reach for longer than its history: watchers still end up with the truth. */
import { expect, it } from 'vitest';
import { openEtcdStore } from '../../../src/store/index.ts';
import { type ApiClient, type StreamEvent, startTestServer } from '../../../src/testing/index.ts';
import { onEtcd, told, truth } from '../../support/server/grounds.ts';
import { CONFIG_MAPS, writeALot, writeLast } from '../../support/server/writers.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const isLast = ({ object }: StreamEvent) => object.metadata?.name === 'the-last';

onEtcd((ground) => {
  it('watchers are told everything, once and in order, although etcd is killed again and again', async () => {
    await using server = await ground.open();
    const { client } = server;
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const watching = [server.connect(), server.connect({ protocol: 'http2' })].map((one) => follow(one, start));
    const [member] = ground.etcd().members;
    const writer = server.connect({ protocol: 'http2' });
    for (let round = 0; round < 3; round++) {
      const writing = writeThrough(writer, 400, 50 + round);
      await member!.kill();
      await member!.start();
      await writing;
      await untilItWorks(() => client.patch(`${CONFIG_MAPS}/alive`, { data: { value: String(round) } }), client);
    }
    await untilItWorks(() => writeLast(client), client);
    const seen = await Promise.all(watching);
    const happened = await truth(ground, server, 'configmaps', start);
    for (const events of seen) expect(events).toEqual(happened);
  }, 90_000);

  it('an etcd that hangs for a while delays answers, and nothing is lost', async () => {
    await using server = await ground.open();
    const { client } = server;
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const watching = follow(server.connect(), start);
    await writeALot({ client, writes: 50, seed: 60 });
    const [member] = ground.etcd().members;
    member!.pause();
    const asked = Promise.allSettled([
      client.create(CONFIG_MAPS, { metadata: { name: 'asked-meanwhile' } }),
      client.list(CONFIG_MAPS),
    ]);
    // What needs no etcd is answered all the same.
    const cached = await client.list(CONFIG_MAPS, { resourceVersion: '0' });
    expect(cached.items.length).toBeGreaterThan(0);
    member!.resume();
    await asked;
    await untilItWorks(() => writeLast(client), client);
    const seen = await watching;
    expect(seen).toEqual(await truth(ground, server, 'configmaps', start));
  }, 90_000);

  it('a server that was cut off until its history was compacted gives its watchers the difference', async () => {
    await using far = await ground.open();
    const [url] = ground.etcd().urls;
    await using line = await startTcpProxy(() => Number(new URL(url!).port));
    const servers = [`http://127.0.0.1:${line.port}`];
    await using near = await startTestServer({ etcd: { servers, prefix: ground.rootOf(far) } });
    const names = ['stays', 'changes', 'changes-twice', 'goes', 'goes-and-comes'];
    for (const name of names) await far.client.create(CONFIG_MAPS, { metadata: { name } });
    const start = (await near.client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const watching = follow(near.client, start);
    line.refuses = true;
    line.cut();
    await change(far.client);
    await compactAll(url!);
    line.refuses = false;
    await untilItWorks(() => writeLast(near.client), near.client);
    const events = await watching;
    const state = new Map(names.map((name) => [name, 'before']));
    let version = Number(start);
    for (const event of events) {
      const [type, key, at, value] = event.split(' ') as [string, string, string, string];
      const name = key.split('/')[1]!;
      expect(Number(at)).toBeGreaterThanOrEqual(version);
      version = Number(at);
      expect(type === 'ADDED').toBe(!state.has(name));
      if (type === 'DELETED') state.delete(name);
      else state.set(name, value);
    }
    const { items } = await far.client.list(CONFIG_MAPS);
    expect([...state.keys()].sort()).toEqual(items.map(({ metadata }) => metadata.name));
    expect(state.get('changes')).toBe('after');
    expect(state.get('changes-twice')).toBe('after-again');
    expect(state.get('stays')).toBe('before');
  }, 90_000);

  it('watchers who leave while the log is read for them leave nothing behind in etcd', async () => {
    await using server = await ground.open();
    const { client } = server;
    const { metadata } = await client.create(CONFIG_MAPS, { metadata: { name: 'old' } });
    await client.create(CONFIG_MAPS, { metadata: { name: 'newer' } });
    await client.create('/api/v1/namespaces/default/secrets', { metadata: { name: 'something-else' } });
    await server.restart();
    await server.client.list(CONFIG_MAPS);
    const [url] = ground.etcd().urls;
    const before = await watchersOf(url!);
    for (let i = 0; i < 30; i++) {
      await using watch = await server.client.watch(CONFIG_MAPS, { resourceVersion: metadata.resourceVersion! });
      await watch.next();
    }
    while ((await watchersOf(url!)) > before) await server.client.list(CONFIG_MAPS);
  });
});

/** How many watches etcd serves. */
async function watchersOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^etcd_debugging_mvcc_watcher_total (\S+)$/m.exec(text)?.[1]);
}

async function change(client: ApiClient): Promise<void> {
  const path = (name: string) => `${CONFIG_MAPS}/${name}`;
  await client.patch(path('changes'), { data: { value: 'after' } });
  await client.patch(path('changes-twice'), { data: { value: 'after' } });
  await client.patch(path('changes-twice'), { data: { value: 'after-again' } });
  await client.delete(path('goes'));
  await client.delete(path('goes-and-comes'));
  await client.create(CONFIG_MAPS, { metadata: { name: 'goes-and-comes' }, data: { value: 'new' } });
  await client.create(CONFIG_MAPS, { metadata: { name: 'comes' } });
}

async function compactAll(url: string): Promise<void> {
  const store = await openEtcdStore({ endpoints: [url] });
  await store.compact(await store.revision());
  await store.close();
}

/** Goes on after each end, cleanly or not, from the last version it saw; until the last object. */
async function follow(client: ApiClient, start: string): Promise<string[]> {
  const events: string[] = [];
  for (let version = start; ; ) {
    const watch = await client.watch(CONFIG_MAPS, { resourceVersion: version }).catch(() => undefined);
    for (;;) {
      const event = await watch?.next().catch(() => undefined);
      if (!event) break;
      if (event.type === 'ERROR') throw new Error(`The watch failed: ${JSON.stringify(event.object)}`);
      events.push(told(event));
      version = event.object.metadata.resourceVersion!;
      if (isLast(event)) {
        watch?.close();
        return events;
      }
    }
  }
}

/** Writes on although some writes fail: what happened to those, nobody knows. */
async function writeThrough(client: ApiClient, writes: number, seed: number): Promise<void> {
  for (let i = 0; i < writes; i += 20)
    await writeALot({ client, writes: 20, seed: seed * 1000 + i }).catch((err: { code?: number }) => {
      if (err.code === undefined || err.code < 500) throw err;
    });
}

/** Until the server has found its etcd again. */
async function untilItWorks<T>(attempt: () => Promise<T>, client: ApiClient): Promise<void> {
  for (;;) {
    const code = await attempt().then(
      () => 200,
      (err: { code?: number }) => err.code ?? 0,
    );
    if (code === 200 || code === 409) return;
    if (code === 404) await client.create(CONFIG_MAPS, { metadata: { name: 'alive' } }).catch(() => {});
  }
}
