/**
 * The etcd store while members stop, die, freeze and come back: what was acknowledged stays, what is unknown is called
 * so, and a watch shows the store's history, each event once.
 */
import { describe, expect, it } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { isStoreError, type Store } from '../../../src/store/index.ts';
import { type EtcdClusterOptions, etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { checkWrites, historyOf, Recorder, writeUntil } from './etcd-history.ts';

const version = etcdVersion();
if (!version) console.warn('Skipped: the fault tests of the etcd store need an etcd on the PATH');

/** Small, so that a frozen member is noticed soon; etcd has to be told that such pings are meant well. */
const impatient = { keepAliveMs: 250, keepAliveTimeoutMs: 250, dialTimeoutMs: 500, requestTimeoutMs: 3000 };
const patientEtcd = ['--grpc-keepalive-min-time', '100ms'];

function start(options: EtcdClusterOptions = {}) {
  return startEtcd({ ...options, flags: [...patientEtcd, ...(options.flags ?? [])] });
}

function open(endpoints: readonly string[], options: object = {}): Promise<Store> {
  return openEtcdStore({ endpoints, ...impatient, ...options });
}

const put = (key: string, value: string | Buffer) => ({ kind: 'put' as const, key, value: Buffer.from(value) });

/** Fails while the store cannot be reached, so it is asked until it can. */
async function writeOnce(store: Store, key: string, value: string): Promise<number> {
  for (;;)
    try {
      return (await store.txn({ then: [put(key, value)] })).revision;
    } catch (err) {
      if (!isStoreError(err, 'Unavailable') && !isStoreError(err, 'OutcomeUnknown')) throw err;
    }
}

describe.skipIf(!version)('one etcd', () => {
  it.each(['stop', 'kill'] as const)(
    '%s and start during writes: nothing acknowledged is lost, watches go on',
    async (how) => {
      await using cluster = await start();
      const [member] = cluster.members;
      await using store = await open(cluster.urls);
      await using fromNow = store.watch({ prefix: 'w/' });
      await using fromOne = store.watch({ prefix: 'w/' }, { fromRevision: 1, progress: true });
      await fromNow.started();
      const recorders = [fromNow, fromOne].map((watch) => new Recorder(watch));
      const running = recorders.map((recorder) => recorder.run());

      let isOver = false;
      const writers = ['x', 'y', 'z'].map((name) => writeUntil(store, name, () => isOver));
      for (let round = 0; round < 3; round++) {
        await recorders[0]!.reached(recorders[0]!.lastRevision + 50);
        await member![how]();
        await member!.start();
      }
      await recorders[0]!.reached(recorders[0]!.lastRevision + 50);
      isOver = true;
      const logs = await Promise.all(writers);

      const end = await writeOnce(store, 'w/end', 'end');
      await Promise.all(recorders.map((recorder) => recorder.reached(end)));
      const history = await historyOf(store, end);
      checkWrites(
        history.filter(({ key }) => key !== 'w/end'),
        logs,
      );
      for (const recorder of recorders) expect(recorder.seen).toEqual(history);
      await Promise.all([fromNow.return(), fromOne.return(), ...running]);
      await Promise.all(running);
    },
  );

  it('that is gone: reads and unsent writes end with Unavailable, closing ends what waits', async () => {
    await using cluster = await start();
    const [member] = cluster.members;
    await using store = await open(cluster.urls, { requestTimeoutMs: 300 });
    await using watch = store.watch({ prefix: '' });
    await watch.started();
    await member!.kill();
    await expect(store.get('a')).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(store.txn({ then: [put('a', '1')] })).rejects.toMatchObject({ code: 'Unavailable' });
    const waiting = expect(watch.next()).rejects.toMatchObject({ code: 'Closed' });
    await store.close();
    await waiting;
    await expect(store.get('a')).rejects.toMatchObject({ code: 'Closed' });
  });

  it('that is frozen: a write that was sent ends with OutcomeUnknown', async () => {
    await using cluster = await start();
    const [member] = cluster.members;
    await using store = await open(cluster.urls);
    member!.pause();
    const error = await store.txn({ then: [put('a', '1')] }).catch((err: unknown) => err);
    expect(error).toMatchObject({ code: 'OutcomeUnknown', message: expect.stringContaining(cluster.urls[0]!) });
    member!.resume();
    await writeOnce(store, 'a', '2');
    expect((await store.get('a')).kv?.value.toString()).toBe('2');
  });

  it('whose history was compacted during the outage of a watch: the watch ends with Compacted', async () => {
    await using cluster = await start();
    await using others = await open(cluster.urls);
    await using store = await open(cluster.urls, { watchBufferBytes: 1 }); // every batch fills it: reading stops after one
    await using watch = store.watch({ prefix: 'k' });
    await watch.started();
    await others.txn({ then: [put('k', '1')] });
    const first = await watch.next();
    const filling = Buffer.alloc(1_000_000);
    for (let i = 0; i < 20; i++) await others.txn({ then: [put('k', filling)] });
    await cluster.members[0]!.kill();
    await cluster.members[0]!.start();
    const now = await others.revision();
    await others.compact(now, { physical: true });

    let last = first.value!.revision;
    const error = await (async () => {
      for await (const { revision } of watch) {
        expect(revision).toBe(last + 1);
        last = revision;
      }
    })().catch((err: unknown) => err);
    expect(error).toMatchObject({ code: 'Compacted', compactRevision: now });
    expect(last).toBeLessThan(now - 1);
    await expect(watch.next()).resolves.toMatchObject({ done: true });

    await using late = store.watch({ prefix: 'k' }, { fromRevision: 2 });
    await expect(late.started()).rejects.toMatchObject({ code: 'Compacted' });
    await expect(late.next()).rejects.toMatchObject({ code: 'Compacted', compactRevision: now });
  });

  it('and a watch that is not read: it holds a bounded amount, another goes on, and nothing is missing later', async () => {
    await using cluster = await start();
    const bufferBytes = 256 * 1024;
    await using store = await open(cluster.urls, { watchBufferBytes: bufferBytes });
    await using slow = store.watch({ prefix: 'w/' });
    await using quick = store.watch({ prefix: 'w/' });
    await Promise.all([slow.started(), quick.started()]);
    const recorder = new Recorder(quick);
    const running = recorder.run();
    const value = Buffer.alloc(100_000, 'v');
    let most = 0;
    let end = 0;
    for (let i = 0; i < 500; i++) {
      end = (await store.txn({ then: [put(`w/${i % 10}`, value)] })).revision;
      most = Math.max(most, (slow as unknown as { queuedBytes: number }).queuedBytes);
    }
    await recorder.reached(end);
    await quick.return();
    await running;
    expect(recorder.seen).toHaveLength(500);
    expect(most).toBeGreaterThanOrEqual(bufferBytes);
    expect(most).toBeLessThan(bufferBytes + 2 * value.length);

    const late = new Recorder(slow);
    const reading = late.run();
    await late.reached(end);
    expect(late.seen.map(({ revision }) => revision)).toEqual(recorder.seen.map(({ revision }) => revision));
    await slow.return();
    await reading;
  });
});

describe.skipIf(!version)('three etcds', () => {
  it('killed, stopped and frozen in turn: watches show exactly the history, nothing acknowledged is lost', async () => {
    await using cluster = await start({ members: 3 });
    const stores = await Promise.all(
      [0, 1, 2].map((i) => open([...cluster.urls.slice(i), ...cluster.urls.slice(0, i)])),
    );
    await using _closing = {
      [Symbol.asyncDispose]: async () => void (await Promise.all(stores.map((s) => s.close()))),
    };
    const watches = stores.flatMap((store) => [
      store.watch({ prefix: 'w/' }, { fromRevision: 1 }),
      store.watch({ prefix: 'w/' }, { fromRevision: 1, prevKv: true, progress: true }),
    ]);
    const recorders = watches.map((watch) => new Recorder(watch));
    const running = recorders.map((recorder) => recorder.run());

    let isOver = false;
    const writers = stores.map((store, i) => writeUntil(store, `writer${i}`, () => isOver));
    const everybodySees = async (more: number) => {
      const goal = Math.max(...recorders.map(({ lastRevision }) => lastRevision)) + more;
      await Promise.all(recorders.map((recorder) => recorder.reached(goal)));
    };
    for (const [i, member] of cluster.members.entries()) {
      await everybodySees(30);
      await member.kill();
      await everybodySees(30); // without it
      await member.start();
      await everybodySees(30);
      const other = cluster.members[(i + 1) % 3]!;
      other.pause();
      await everybodySees(30); // those who were connected to it, too
      other.resume();
    }
    await cluster.members[0]!.stop();
    await everybodySees(30);
    await cluster.members[0]!.start();
    isOver = true;
    const logs = await Promise.all(writers);

    const end = await writeOnce(stores[0]!, 'w/end', 'end');
    await Promise.all(recorders.map((recorder) => recorder.reached(end)));
    const history = await historyOf(stores[1]!, end);
    checkWrites(
      history.filter(({ key }) => key !== 'w/end'),
      logs,
    );
    for (const recorder of recorders) expect(recorder.seen).toEqual(history);
    for (const watch of watches) await watch.return();
    await Promise.all(running);
  }, 60_000);
});
