/** The embedded store on files that are damaged or not its own, on a disk that fails, and while it ends. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbEngine } from '../../../src/store/embedded/disk/lmdb-engine.ts';
import { type EmbeddedStoreOptions, openEmbeddedStore, type StoreError } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Revision, Store } from '../../../src/store/kv.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import { expectRefusal, keysIn, put, textOf } from '../../support/store/store-under-test.ts';
import { namesIn, nextBatch, readEvents } from '../../support/store/watching.ts';
import { type TemporaryDir, temporaryDir } from '../../support/temporary-dir.ts';
import { watchedEngine } from './watched-engine.ts';

let dir: TemporaryDir;
let file: string;
beforeEach(async () => {
  dir = await temporaryDir();
  file = join(dir.path, 'data.mdb');
});
afterEach(() => dir[Symbol.asyncDispose]());

const open = (options: Partial<EmbeddedStoreOptions> = {}) =>
  openEmbeddedStore({ dataDir: dir.path, durability: 'none', autoCompaction: { mode: 'off' }, ...options });

const isLocked = () => readdirSync(dir.path).some((name) => name.startsWith('LOCK'));
const digest = () => createHash('sha256').update(readFileSync(file)).digest('hex');

/** How opening the store goes in a process of its own, for what might end the process. */
async function openInChild(): Promise<{ said: string; code: number | null; signal: string | null }> {
  const moduleUrl = pathToFileURL(join(import.meta.dirname, '../../../src/store/index.ts')).href;
  const script = `
    import { openEmbeddedStore } from ${JSON.stringify(moduleUrl)};
    const opened = openEmbeddedStore({ dataDir: process.argv[1], durability: 'none' });
    console.log(await opened.then((store) => store.close().then(() => 'opened'), (err) => err.code ?? err.message));
  `;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script, dir.path];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  let said = '';
  for await (const chunk of child.stdout) said += chunk;
  const [code, signal] = await ended;
  return { said: said.trim(), code, signal };
}

describe('a damaged file', () => {
  let whole: Buffer;
  beforeEach(async () => {
    const store = await open();
    for (let i = 0; i < 300; i++) await put(store, `k${i}`, `value ${i} `.repeat(50));
    await put(store, 'marked', 'MARK of a small value');
    await put(store, 'big', `BIGMARK ${'x'.repeat(100_000)}`);
    await store.close();
    whole = readFileSync(file);
  });

  /** Every place where the text stands: lmdb leaves old copies of its pages behind. */
  function flipBitsIn(text: string): void {
    const bytes = Buffer.from(whole);
    const places: number[] = [];
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at);
    expect(places.length).toBeGreaterThan(0);
    for (const at of places) bytes[at]! ^= 1;
    writeFileSync(file, bytes);
  }

  function overwrite(from: number, to: number, filling: string | number): void {
    writeFileSync(file, Buffer.from(whole).fill(filling, from, to));
  }

  it.each<[what: string, damage: () => void]>([
    ['cut in half', () => truncateSync(file, Math.floor(whole.length / 2))],
    ['cut after its header', () => truncateSync(file, 2 * 16_384)],
    ['cut inside its header', () => truncateSync(file, 100)],
    ['with garbage for a header', () => overwrite(0, 32_768, 'garbage ')],
    ['with zeros for a header', () => overwrite(0, 32_768, 0)],
    ['with one bit flipped in a small value', () => flipBitsIn('MARK of a small')],
    ['with one bit flipped in a big value', () => flipBitsIn('BIGMARK')],
  ])('%s is refused as Corrupt, left as it is, and not locked', async (_what, damage) => {
    damage();
    const before = digest();
    await expectRefusal(open(), 'Corrupt', { message: expect.stringContaining(JSON.stringify(file)) });
    expect(digest()).toBe(before);
    expect(isLocked()).toBe(false);
    writeFileSync(file, whole);
    await using store = await open();
    expect((await store.range(everyKey)).count).toBe(302);
  });

  it.each<[what: string, from: number, filling: string | number]>([
    ['the first page of its header gone', 0, 0],
    ['garbage for the first page of its header', 0, 'garbage '],
    ['the second page of its header gone', 16_384, 0],
    ['garbage for the second page of its header', 16_384, 'garbage '],
  ])('with %s does not end the process', async (_what, from, filling) => {
    overwrite(from, from + 16_384, filling);
    const before = digest();
    expect(await openInChild()).toEqual({ said: 'Corrupt', code: 0, signal: null });
    expect(digest()).toBe(before);
  });

  it('of a newer format is refused as such, left as it is, and not locked', async () => {
    const engine = openLmdbEngine({ file, isDurable: false });
    await engine.commit({ append: [], remove: [], meta: new Map([['format', 99]]), leases: new Map() });
    await engine.close();
    const before = digest();
    await expectRefusal(open(), 'UnsupportedFormat', { message: expect.stringContaining('it has format 99') });
    expect(digest()).toBe(before);
    expect(isLocked()).toBe(false);
  });
});

describe('a disk that fails', () => {
  const GOOD_COMMITS = 20;

  it.each([
    ['before the write has reached it', false],
    ['after the write has reached it', true],
  ])('%s ends the store; what was answered is there when it is opened again', async (_when, isWritten) => {
    const failures: StoreError[] = [];
    const outcomes = new Map<string, Revision | string>();
    const store = await open({
      onFailure: (error) => failures.push(error),
      openEngine: watchedEngine(async (_asked, commit, count) => {
        if (count <= GOOD_COMMITS || isWritten) await commit();
        if (count > GOOD_COMMITS) throw new Error('Input/output error');
      }),
    });
    const watch = store.watch(everyKey);
    const following = (async () => {
      for await (const _batch of watch);
    })().catch((err: StoreError) => err.code);
    const write = async (writer: number) => {
      for (let i = 0; ; i++) {
        const key = `${writer}/${i}`;
        const outcome = await put(store, key).catch((err: StoreError) => err.code);
        outcomes.set(key, outcome);
        if (outcome === 'Closed') return;
      }
    };
    await Promise.all([0, 1, 2, 3].map(write));
    expect(failures.map(({ code }) => code)).toEqual(['Closed']);
    expect(failures[0]!.message).toContain('Input/output error');
    expect(await following).toBe('Closed');
    await expectRefusal(store.get('0/0'), 'Closed');
    await expectRefusal(store.compact(2), 'Closed');
    await expectRefusal(store.grantLease(10), 'Closed');
    expect(() => store.watch(everyKey)).toThrow(expect.objectContaining({ code: 'Closed' }));
    await store.close();
    expect(failures).toHaveLength(1);

    await using again = await open();
    const unknown = [...outcomes].filter(([, outcome]) => outcome === 'OutcomeUnknown');
    expect(unknown.length).toBeGreaterThan(0);
    for (const [key, outcome] of outcomes) {
      const { kv } = await again.get(key);
      if (typeof outcome === 'number') expect(kv, key).toMatchObject({ modRevision: outcome });
      else expect(kv !== undefined, `${key} ${outcome}`).toBe(outcome === 'OutcomeUnknown' && isWritten);
    }
    expect(await put(again, 'new')).toBeGreaterThan(Math.max(...[...outcomes.values()].map((one) => Number(one) || 0)));
  });

  it('refuses what waits behind the write that failed', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using store = await open({
      openEngine: watchedEngine(async (asked, commit) => {
        if (asked.append.length === 0) return commit();
        await held;
        throw new Error('No space left on device');
      }),
    });
    const first = expectRefusal(put(store, 'first'), 'OutcomeUnknown');
    await new Promise<void>((resolve) => setImmediate(resolve));
    const others = [put(store, 'second'), put(store, 'third'), store.compact(1), store.grantLease(5), store.leases()];
    const refused = Promise.all(others.map((call) => expectRefusal(call, 'Closed')));
    release();
    await Promise.all([first, refused]);
  });
});

describe('leases', () => {
  it('survive a restart with their time begun anew, and their end is seen by a watch', async () => {
    const first = await open({ clock: new FakeClock() });
    await first.grantLease(10, { id: 7n });
    await put(first, 'a', 'leased', 7n);
    await put(first, 'b', 'leased', 7n);
    await put(first, 'c', 'free');
    await first.close();

    const clock = new FakeClock();
    const second = await open({ clock });
    await clock.advance(9_900);
    await put(second, 'd'); // anything that had been revoked would be on disk before this
    expect(await keysIn(second, everyKey)).toEqual(['a', 'b', 'c', 'd']);
    expect(await second.leaseInfo(7n)).toMatchObject({ grantedTtlSeconds: 10, remainingSeconds: 0, keys: ['a', 'b'] });
    const watch = second.watch(everyKey);
    await clock.advance(600);
    const batch = await nextBatch(watch);
    expect(namesIn([batch])).toEqual(['delete a', 'delete b']);
    expect(new Set(batch.events.map(({ kv }) => kv.modRevision)).size).toBe(1);
    expect(await second.leases()).toEqual([]);
    await second.close();

    await using third = await open();
    expect(await third.leases()).toEqual([]);
    expect(await keysIn(third, everyKey)).toEqual(['c', 'd']);
  });
});

describe('closing', () => {
  it('answers every write in flight, and what it answered well is there afterwards', async () => {
    const store = await open();
    const keys = Array.from({ length: 300 }, (_, i) => `k${i}`);
    const before = keys.slice(0, 250).map((key) => put(store, key, key));
    const closed = store.close();
    const after = keys.slice(250).map((key) => put(store, key, key));
    const outcomes = await Promise.allSettled([...before, ...after]);
    await closed;
    await using again = await open();
    for (const [i, outcome] of outcomes.entries()) {
      const { kv } = await again.get(keys[i]!);
      if (outcome.status === 'fulfilled') expect(kv).toMatchObject({ modRevision: outcome.value });
      else expect([kv, outcome.reason.code]).toEqual([undefined, 'Closed']);
    }
    expect(outcomes.map(({ status }) => status).indexOf('rejected')).toBe(250);
    expect(isLocked()).toBe(true);
  });

  it('lets go of the directory, also when asked twice', async () => {
    const store = await open();
    await Promise.all([store.close(), store.close()]);
    expect(isLocked()).toBe(false);
  });
});

describe('two stores in one process', () => {
  it('live side by side in two directories', async () => {
    await using other = await temporaryDir();
    await using one = await open();
    await using two = await open({ dataDir: other.path });
    const write = (store: Store, name: string) =>
      Promise.all(Array.from({ length: 50 }, (_, i) => put(store, `k${i}`, name)));
    const watch = one.watch(everyKey);
    await Promise.all([write(one, 'one'), write(two, 'two')]);
    expect(textOf((await one.get('k7')).kv!.value)).toBe('one');
    expect(textOf((await two.get('k7')).kv!.value)).toBe('two');
    const events = (await readEvents(watch, 50)).flatMap((batch) => batch.events);
    expect(events.map(({ kv }) => textOf(kv.value))).toEqual(Array(50).fill('one'));
  });

  it('cannot share one directory, and the first is none the worse for it', async () => {
    await using first = await open();
    await put(first, 'a');
    await expectRefusal(open(), 'Locked', { message: expect.stringContaining(`process ${process.pid} has it open`) });
    expect(await put(first, 'b')).toBe(3);
    expect(isLocked()).toBe(true);
  });
});
