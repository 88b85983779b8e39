/** A list is one snapshot, page by page, whatever is written meanwhile; and a read sees what was acknowledged before. */
import { expect, it } from 'vitest';
import type { StatusError } from '../../../../src/api/index.ts';
import type { ApiClient, ObjectList, TestServer } from '../../../../src/testing/index.ts';
import { type Ground, onEtcd, onEveryGround, truth } from '../../../support/server/grounds.ts';
import { CONFIG_MAPS, writeALot } from '../../../support/server/writers.ts';

onEveryGround((ground) => {
  it('all pages of a list are of one revision and together its whole state, while many write', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await fill(client, 100);
    const start = '0';
    const writing = writeALot({ client, writes: 2000, seed: 3, names: 100 });
    const walks = await Promise.all([7, 10, 33, 50, 99].map((limit) => pagesOf(client, limit)));
    await writing;
    const happened = await truth(ground, server, 'configmaps', start);
    for (const pages of walks) {
      expect(new Set(pages.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
      expect(namesAndVersions(pages)).toEqual(stateAt(happened, pages[0]!.metadata.resourceVersion));
      let left = pages.reduce((sum, { items }) => sum + items.length, 0);
      for (const { items, metadata } of pages) {
        left -= items.length;
        expect(metadata.remainingItemCount ?? 0).toBe(left);
      }
    }
  }, 60_000);

  it('the rest of a list is read from the store when the cache does not reach back to its first page', async () => {
    await using server = await ground.open();
    await fill(server.client, 40);
    const first = await server.client.list(CONFIG_MAPS, { limit: 15 });
    await writeALot({ client: server.client, writes: 300, seed: 5 });
    await server.restart(); // whose window begins now
    const rest = await pagesOf(server.client, 10, first.metadata.continue);
    const pages = [first, ...rest];
    expect(new Set(pages.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
    const happened = await truth(ground, server, 'configmaps', '0');
    expect(namesAndVersions(pages)).toEqual(stateAt(happened, first.metadata.resourceVersion));
  });

  it('a token older than the history is told so, with one that gives the rest as it is now', async () => {
    await using server = await ground.open();
    await fill(server.client, 20);
    const first = await server.client.list(CONFIG_MAPS, { limit: 8 });
    await server.client.patch(`${CONFIG_MAPS}/object-9`, { data: { value: 'changed since' } });
    await compact(ground, server);
    const query = { limit: 8, continue: first.metadata.continue! };
    const refused = await server.client.list(CONFIG_MAPS, query).then(
      () => expect.fail('a page was read that is gone'),
      (err: StatusError) => err,
    );
    expect(refused.status).toMatchObject({ code: 410, reason: 'Expired' });
    const next = (refused.status.metadata as { continue?: string }).continue!;
    const rest = await pagesOf(server.client, 8, next);
    const newest = await server.client.list(CONFIG_MAPS);
    const given = new Set(first.items.map(({ metadata }) => metadata.name));
    const want = newest.items.filter(({ metadata }) => !given.has(metadata.name));
    expect(rest.flatMap(({ items }) => items)).toEqual(want);
    expect(Number(rest[0]!.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
  });

  it('GET and LIST see every write that was acknowledged before, by whatever connection', async () => {
    await using server = await ground.open();
    const clients = [server.client, server.connect({ protocol: 'http2' }), server.connect()];
    const others = writeALot({ client: server.connect({ protocol: 'http2' }), writes: 1500, seed: 9 });
    const rounds = Array.from({ length: 6 }, (_, writer) => readWhatWasWritten(clients, `mine-${writer}`, 40));
    await Promise.all([others, ...rounds]);
  }, 60_000);
});

onEtcd((ground) => {
  it('GET and LIST see what was acknowledged by another server on the same etcd', async () => {
    await using one = await ground.open();
    await using two = await ground.open({ etcd: { servers: [], prefix: ground.rootOf(one) } });
    const others = writeALot({ client: two.connect({ protocol: 'http2' }), writes: 500, seed: 13 });
    const writers = Array.from({ length: 4 }, (_, i) =>
      readWhatWasWritten(i % 2 === 0 ? [one.client, two.client] : [two.client, one.client], `mine-${i}`, 25),
    );
    await Promise.all([others, ...writers]);
  }, 60_000);
});

// As etcd is installed: it speaks of progress every ten minutes, and old versions not truly when asked.
onEtcd((ground) => {
  it('a read of a quiet resource is answered although only others are written', async () => {
    await using server = await ground.open();
    const secrets = '/api/v1/namespaces/default/secrets';
    await server.client.list(secrets);
    await server.client.create(CONFIG_MAPS, { metadata: { name: 'busy' } });
    const { items } = await server.client.list(secrets);
    expect(items).toEqual([]);
    await expect(server.client.get(`${secrets}/none`)).rejects.toMatchObject({ code: 404 });
  });
}, '10m');

async function fill(client: ApiClient, count: number): Promise<void> {
  const create = (i: number) => client.create(CONFIG_MAPS, { metadata: { name: `object-${i}` } });
  await Promise.all(Array.from({ length: count }, (_, i) => create(i)));
}

async function pagesOf(client: ApiClient, limit: number, token?: string): Promise<ObjectList[]> {
  const pages: ObjectList[] = [];
  for (let next = token ?? ''; ; ) {
    const page = await client.list(CONFIG_MAPS, { limit, ...(next && { continue: next }) });
    pages.push(page);
    next = page.metadata.continue ?? '';
    if (next === '') return pages;
  }
}

function namesAndVersions(pages: readonly ObjectList[]): string[] {
  return pages.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
}

/** What the history says was there, in the order of a list. */
function stateAt(happened: readonly string[], version: string): string[] {
  const state = new Map<string, string>();
  for (const line of happened) {
    const [type, key, at] = line.split(' ') as [string, string, string];
    if (Number(at) > Number(version)) break;
    if (type === 'DELETED') state.delete(key);
    else state.set(key, at);
  }
  const keys = [...state.keys()].sort();
  return keys.filter((key) => key.startsWith('default/')).map((key) => `${key.split('/')[1]} ${state.get(key)}`);
}

/** Forgets all history up to now. */
async function compact(ground: Ground, server: TestServer): Promise<void> {
  const store = await ground.storeOf(server);
  await store.compact(await store.revision());
  await store.close();
  await server.start();
}

/** Writes with the first client and reads with each of them in turn. */
async function readWhatWasWritten(clients: readonly ApiClient[], name: string, rounds: number): Promise<void> {
  const [writer] = clients;
  const path = `${CONFIG_MAPS}/${name}`;
  for (let round = 0; round < rounds; round++) {
    const reader = clients[round % clients.length]!;
    const made = await writer!.create(CONFIG_MAPS, { metadata: { name } });
    expect(await reader.get(path)).toEqual(made);
    const changed = await writer!.patch(path, { data: { value: String(round) } });
    const { items } = await reader.list(CONFIG_MAPS);
    const version = items.find(({ metadata }) => metadata.name === name)?.metadata.resourceVersion;
    expect(version).toBe(changed.metadata.resourceVersion);
    await writer!.delete(path);
    await expect(reader.get(path)).rejects.toMatchObject({ code: 404 });
    const left = await reader.list(CONFIG_MAPS, { fieldSelector: `metadata.name=${name}` });
    expect(left.items).toEqual([]);
  }
}
