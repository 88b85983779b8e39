/** No write is lost to another: compare-and-swap, patches, deletion with and without those who hold it up. */
import { expect, it } from 'vitest';
import { isStatusError } from '../../../src/api/index.ts';
import type { ApiClient } from '../../../src/testing/index.ts';
import { dataOf, onEveryGround } from '../../support/server/grounds.ts';
import { CONFIG_MAPS, writeALot } from '../../support/server/writers.ts';

onEveryGround((ground) => {
  it('50 writers count on one object by compare-and-swap, and no step is lost', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await client.create(CONFIG_MAPS, { metadata: { name: 'counter' }, data: { value: '0' } });
    const refusals = await Promise.all(Array.from({ length: 50 }, () => count(client, 2)));
    const counter = await client.get(`${CONFIG_MAPS}/counter`);
    expect(dataOf(counter)).toBe('100');
    expect(refusals.reduce((a, b) => a + b)).toBeGreaterThan(0);
  }, 60_000);

  it('50 patches of one object at once all take effect', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await client.create(CONFIG_MAPS, { metadata: { name: 'shared' } });
    const keys = Array.from({ length: 50 }, (_, i) => `key-${i}`);
    await Promise.all(keys.map((key) => client.patch(`${CONFIG_MAPS}/shared`, { data: { [key]: key } })));
    const { data } = await client.get(`${CONFIG_MAPS}/shared`);
    expect(data).toEqual(Object.fromEntries(keys.map((key) => [key, key])));
  });

  it('of many that create one name one succeeds, and the others are told', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        client.create(CONFIG_MAPS, { metadata: { name: 'only-one' }, data: { value: String(i) } }),
      ),
    );
    const made = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(made).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason.status).toMatchObject({ code: 409, reason: 'AlreadyExists' });
    expect((made[0] as PromiseFulfilledResult<unknown>).value).toEqual(await client.get(`${CONFIG_MAPS}/only-one`));
  });

  it('deletecollection takes what it selects and leaves the rest, while many write', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    const make = (i: number) =>
      client.create(CONFIG_MAPS, { metadata: { name: `doomed-${i}`, labels: { fate: i % 2 ? 'kept' : 'doomed' } } });
    await Promise.all(Array.from({ length: 60 }, (_, i) => make(i)));
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const writing = writeALot({ client, writes: 500, seed: 21 });
    await client.delete(CONFIG_MAPS, undefined, { labelSelector: 'fate=doomed' });
    const selection = { labelSelector: 'fate' };
    const left = await client.list(CONFIG_MAPS, selection);
    expect(left.items.map(({ metadata }) => metadata.labels?.fate)).toEqual(Array(30).fill('kept'));
    await using watch = await client.watch(CONFIG_MAPS, { ...selection, resourceVersion: start });
    const deleted = await watch.take(30);
    expect(deleted.every(({ type, object }) => type === 'DELETED' && object.metadata.labels?.fate === 'doomed')).toBe(
      true,
    );
    await writing;
  });

  it('an object with finalizers stays until the last lets go, and its watchers see both', async () => {
    await using server = await ground.open();
    const { client } = server;
    const path = `${CONFIG_MAPS}/held`;
    const finalizers = ['example.com/one', 'example.com/two'];
    const { metadata } = await client.create(CONFIG_MAPS, { metadata: { name: 'held', finalizers } });
    await using watch = await client.watch(CONFIG_MAPS, { resourceVersion: metadata.resourceVersion! });
    const marked = await client.delete(path);
    expect(marked.metadata.deletionTimestamp).toBeDefined();
    await expect(client.create(CONFIG_MAPS, { metadata: { name: 'held' } })).rejects.toMatchObject({ code: 409 });
    await client.patch(path, { metadata: { finalizers: ['example.com/two'] } });
    expect((await client.get(path)).metadata.finalizers).toEqual(['example.com/two']);
    await client.patch(path, { metadata: { finalizers: null } });
    await expect(client.get(path)).rejects.toMatchObject({ code: 404 });
    const events = await watch.take(3);
    expect(events.map(({ type }) => type)).toEqual(['MODIFIED', 'MODIFIED', 'DELETED']);
    await client.create(CONFIG_MAPS, { metadata: { name: 'held' } });
    const again = await watch.next();
    expect(again?.type).toBe('ADDED');
    expect(again?.object.metadata.uid).not.toBe(metadata.uid);
  });

  it('a delete with a precondition does not take the object that came after', async () => {
    await using server = await ground.open();
    const { client } = server;
    const path = `${CONFIG_MAPS}/reborn`;
    const first = await client.create(CONFIG_MAPS, { metadata: { name: 'reborn' } });
    await client.delete(path);
    const second = await client.create(CONFIG_MAPS, { metadata: { name: 'reborn' } });
    const preconditions = { uid: first.metadata.uid };
    await expect(client.delete(path, { preconditions })).rejects.toMatchObject({ code: 409 });
    const { resourceVersion } = second.metadata;
    await client.patch(path, { data: { value: 'newer' } });
    await expect(client.delete(path, { preconditions: { resourceVersion } })).rejects.toMatchObject({ code: 409 });
    expect(dataOf(await client.get(path))).toBe('newer');
  });
});

/** Adds one so many times, each on what it has just read; how often somebody else was faster. */
async function count(client: ApiClient, steps: number): Promise<number> {
  let refusals = 0;
  for (let step = 0; step < steps; ) {
    const counter = await client.get(`${CONFIG_MAPS}/counter`);
    const value = String(Number(dataOf(counter)) + 1);
    try {
      await client.update(`${CONFIG_MAPS}/counter`, { ...counter, data: { value } });
      step++;
    } catch (err) {
      if (!isStatusError(err, 'Conflict')) throw err;
      refusals++;
    }
  }
  return refusals;
}
