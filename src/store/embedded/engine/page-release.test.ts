import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryDir, temporaryDir } from '../../../../test/support/temporary-dir.ts';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import type { StoreError } from '../../errors.ts';
import type { Store } from '../../kv.ts';
import { openLmdbEngine } from '../disk/lmdb-engine.ts';
import { openEmbeddedStore } from '../embedded-store.ts';
import type { LogEngine } from './engine.ts';

const TICK_MS = 500;
const LARGE = Buffer.alloc(1024 * 1024, 'x');

let dir: TemporaryDir;
let clock: FakeClock;
let store: Store;
let failures: StoreError[];
/** How often the engine has let go; and what stands in the way of the next time. */
let releases: number;
let gate: Promise<void> | undefined;
let failure: Error | undefined;

/** lmdb, with a count and somebody who can hold it up while it is closed. */
function engineFor(file: string): LogEngine {
  const engine = openLmdbEngine({ file, isDurable: false });
  const letGo = async () => {
    releases++;
    const opened = engine.letGo!();
    await gate;
    await opened;
    if (failure) throw failure;
  };
  return new Proxy(engine, {
    get: (target, name) => {
      if (name === 'letGo') return letGo;
      const member = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

beforeEach(async () => {
  dir = await temporaryDir();
  clock = new FakeClock();
  releases = 0;
  gate = undefined;
  failure = undefined;
  failures = [];
  store = await openEmbeddedStore({
    dataDir: dir.path,
    clock,
    autoCompaction: { mode: 'off' },
    openEngine: engineFor,
    onFailure: (error) => failures.push(error),
  });
});
afterEach(async () => {
  await store.close();
  await dir[Symbol.asyncDispose]();
});

const put = (key: string, value: Buffer = LARGE) => store.txn({ then: [{ kind: 'put', key, value }] });

async function fill(): Promise<void> {
  for (let i = 0; i < 12; i++) await put(`k${i}`);
}

describe('the pages of the log', () => {
  it('are let go once nobody has touched them between two ticks, and not again before they are touched', async () => {
    await fill();
    await clock.advance(TICK_MS);
    expect(releases).toBe(0);
    await clock.advance(TICK_MS);
    expect(releases).toBe(1);
    await clock.advance(20 * TICK_MS);
    expect(releases).toBe(1);
    expect((await store.range({ prefix: 'k' })).kvs.map(({ value }) => value.length)).toEqual(
      Array(12).fill(LARGE.length),
    );
    await clock.advance(2 * TICK_MS);
    expect(releases).toBe(2);
  });

  it('are kept while there are few', async () => {
    await put('k0');
    await clock.advance(10 * TICK_MS);
    expect(releases).toBe(0);
  });

  it('can be asked for meanwhile: reads, writes and watches wait and miss nothing', async () => {
    await fill();
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    await clock.advance(2 * TICK_MS);
    expect(releases).toBe(1);
    const settled: string[] = [];
    const note = <T>(what: string, promise: Promise<T>) => promise.finally(() => settled.push(what));
    const watch = store.watch({ prefix: 'k' }, { fromRevision: 2 });
    const answers = Promise.all([
      note('get', store.get('k3')),
      note('range', store.range({ prefix: 'k' })),
      note('txn', put('k3', Buffer.from('new'))),
      note('status', store.status()),
      note('watch', watch.next()),
      note('lease', store.grantLease(10)),
    ]);
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toEqual([]);
    open();
    const [got, range, txn, , batch] = await answers;
    expect(got.kv?.value.length).toBe(LARGE.length);
    expect(range.kvs.length).toBe(12);
    expect(batch.value?.events[0]?.kv.key).toBe('k0');
    await watch.return?.();
    const { kv } = await store.get('k3');
    expect([kv?.modRevision, kv?.value.toString()]).toEqual([txn.revision, 'new']);
  });

  it('end the store when the file cannot be opened again', async () => {
    await fill();
    failure = new Error('the disk is gone');
    await clock.advance(2 * TICK_MS);
    expect(failures.map(({ message }) => message)).toEqual([expect.stringContaining('the disk is gone')]);
    await expect(store.get('k3')).rejects.toMatchObject({ code: 'Closed' });
  });
});
