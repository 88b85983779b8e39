/** The embedded store and its directory: made, half made, taken away under it, not to be written, of another format. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbEngine } from '../../../src/store/embedded/disk/lmdb-engine.ts';
import type { EngineCommit } from '../../../src/store/embedded/engine/engine.ts';
import { encodeRecord } from '../../../src/store/embedded/state/log-record.ts';
import { type EmbeddedStoreOptions, openEmbeddedStore, type StoreError } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Store } from '../../../src/store/kv.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import { expectRefusal, keysIn, put } from '../../support/store/store-under-test.ts';
import { type TemporaryDir, temporaryDir } from '../../support/temporary-dir.ts';

let dir: TemporaryDir;
let dataDir: string;
let file: string;
let failures: StoreError[];
beforeEach(async () => {
  dir = await temporaryDir();
  dataDir = join(dir.path, 'store');
  file = join(dataDir, 'data.mdb');
  failures = [];
});
afterEach(() => dir[Symbol.asyncDispose]());

const open = (options: Partial<EmbeddedStoreOptions> = {}): Promise<Store> =>
  openEmbeddedStore({
    dataDir,
    durability: 'none',
    autoCompaction: { mode: 'off' },
    onFailure: (error) => failures.push(error),
    ...options,
  });

async function makeStore(): Promise<void> {
  const store = await open();
  for (let i = 0; i < 5; i++) await put(store, `k${i}`, 'there');
  await store.close();
}

describe('a directory that is made', () => {
  it.each<[what: string, leave: () => void]>([
    ['with nothing in it', () => {}],
    ['with half a data file under its first name', () => writeFileSync(`${file}.new`, Buffer.alloc(20_000, 'x'))],
    ['with an empty data file', () => writeFileSync(file, '')],
    ['with a data file of zeros', () => writeFileSync(file, Buffer.alloc(32_768))],
    ['with half a seal under its first name', () => writeFileSync(join(dataDir, 'SEAL.new'), 'x')],
    ['with an empty seal', () => writeFileSync(join(dataDir, 'SEAL'), '')],
    ['with an empty lock of lmdb', () => writeFileSync(`${file}-lock`, '')],
  ])('and was left %s by a power cut opens as a new store', async (_what, leave) => {
    mkdirSync(dataDir);
    leave();
    const store = await open();
    expect(await store.revision()).toBe(1);
    await put(store, 'a');
    await store.close();
    // Nothing of what was left remains beside it.
    expect(readdirSync(dataDir).filter((name) => name.endsWith('.new'))).toEqual([]);
    expect(readdirSync(dataDir)).toEqual(expect.arrayContaining(['SEAL', 'data.mdb']));
    await using again = await open();
    expect(await keysIn(again, everyKey)).toEqual(['a']);
  });

  it('and was left without its seal has it again, and keeps its data', async () => {
    await makeStore();
    rmSync(join(dataDir, 'SEAL'));
    const store = await open();
    expect(await keysIn(store, everyKey)).toHaveLength(5);
    await store.close();
    expect(existsSync(join(dataDir, 'SEAL'))).toBe(true);
  });

  it('is for its owner only, with everything above it that had to be made', async () => {
    dataDir = join(dir.path, 'a/b/c');
    await (await open({ durability: 'fsync' })).close();
    for (const folder of ['a', 'a/b', 'a/b/c']) expect(statSync(join(dir.path, folder)).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'SEAL')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['a file', 'file', 'it is a file'],
    ['below a file', 'file/below', 'is a file, not a directory'],
    ['where none can be made', '/proc/none/such', 'no directory can be made there'],
  ])('%s is refused as InvalidArgument', async (_what, path, message) => {
    writeFileSync(join(dir.path, 'file'), '');
    const wrong = open({ dataDir: resolve(dir.path, path) });
    await expectRefusal(wrong, 'InvalidArgument', { message: expect.stringContaining(message) });
  });
});

describe('a store that was there', () => {
  it.each<[what: string, lose: () => void, says: string]>([
    ['missing', () => rmSync(file), 'it is missing'],
    ['empty', () => truncateSync(file, 0), 'it is empty'],
    ['zeros', () => writeFileSync(file, Buffer.alloc(statSync(file).size)), 'holds nothing but zeros'],
  ])('whose data file is %s is refused as Corrupt, again and again', async (_what, lose, says) => {
    await makeStore();
    lose();
    for (let time = 0; time < 2; time++)
      await expectRefusal(open(), 'Corrupt', { message: expect.stringMatching(`${says}.*held revision 6 before`) });
    expect(readdirSync(dataDir)).not.toContain('data.mdb.new');
  });

  it('whose data file is one commit back is refused, and opens when its seal is taken away by hand', async () => {
    await makeStore();
    const before = readFileSync(file);
    const store = await open();
    await put(store, 'last');
    await store.close();
    writeFileSync(file, before);
    await expectRefusal(open(), 'Corrupt', { message: expect.stringContaining('had come to commit') });
    rmSync(join(dataDir, 'SEAL'));
    await using again = await open();
    expect(await keysIn(again, everyKey)).toHaveLength(5);
  });

  it('whose data file is that of another store is refused', async () => {
    await makeStore();
    const mine = dataDir;
    dataDir = join(dir.path, 'other');
    const other = await open();
    for (let i = 0; i < 50; i++) await put(other, 'a');
    await other.close();
    copyFileSync(join(dataDir, 'data.mdb'), file);
    dataDir = mine;
    await expectRefusal(open(), 'Corrupt', { message: expect.stringContaining('another store') });
  });

  it('with a damaged seal is refused, and one torn half of it does no harm', async () => {
    await makeStore();
    const seal = join(dataDir, 'SEAL');
    const store = await open();
    await put(store, 'more');
    await store.close();
    const whole = readFileSync(seal);
    for (const slot of [0, 512]) {
      writeFileSync(seal, Buffer.from(whole).fill('x', slot, slot + 92));
      await (await open()).close();
    }
    writeFileSync(seal, Buffer.alloc(1024, 'x'));
    await expectRefusal(open(), 'Corrupt', { message: expect.stringContaining('SEAL') });
  });
});

describe('a store whose file is taken away under it', () => {
  const taken: [what: string, take: () => void][] = [
    ['with its directory', () => rmSync(dataDir, { recursive: true })],
    ['alone', () => rmSync(file)],
    ['and moved elsewhere', () => renameSync(file, join(dir.path, 'moved'))],
    ['for a copy', () => copyFileSync(file, `${file}.copy`) ?? renameSync(`${file}.copy`, file)],
  ];

  it.each(taken)('%s answers no write any more, and says why', async (_what, take) => {
    await using store = await open({ clock: new FakeClock() });
    for (let i = 0; i < 10; i++) await put(store, `k${i}`, 'x'.repeat(1_000_000));
    take();
    await expectRefusal(put(store, 'a'), 'OutcomeUnknown', {
      message: expect.stringContaining('no longer the file that was opened'),
    });
    await expectRefusal(put(store, 'b'), 'Closed');
    expect(failures).toHaveLength(1);
  });

  it.each(taken)('%s ends by itself, and makes no new file', async (_what, take) => {
    const clock = new FakeClock();
    await using store = await open({ clock });
    for (let i = 0; i < 12; i++) await put(store, `k${i}`, 'x'.repeat(1_000_000));
    take();
    const inode = statSync(file, { throwIfNoEntry: false })?.ino;
    await clock.advance(2000);
    expect(failures).toHaveLength(1);
    await expectRefusal(store.get('k1'), 'Closed', { message: expect.stringContaining('removed or replaced') });
    expect(statSync(file, { throwIfNoEntry: false })?.ino).toBe(inode);
  });

  it('leaves the lock of whoever came after it alone', async () => {
    const store = await open();
    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'LOCK'), JSON.stringify({ pid: 1, started: 'then' }));
    await store.close();
    expect(readFileSync(join(dataDir, 'LOCK'), 'utf8')).toContain('"pid":1');
  });
});

describe('a store that may not be written', () => {
  const isRoot = process.getuid?.() === 0;

  it.skipIf(!isRoot)(
    `whose file is immutable is ReadOnly${isRoot ? '' : ' (skipped: needs root)'}`,
    async (context) => {
      await makeStore();
      try {
        execFileSync('chattr', ['+i', file], { stdio: 'ignore' });
      } catch {
        context.skip('this file system has no immutable files');
      }
      try {
        await expectRefusal(open(), 'ReadOnly', { message: expect.stringContaining('immutable') });
      } finally {
        execFileSync('chattr', ['-i', file]);
      }
      await (await open()).close();
    },
  );

  it.skipIf(isRoot)(`without the right to is ReadOnly${isRoot ? ' (skipped: root may everything)' : ''}`, async () => {
    await makeStore();
    chmodSync(file, 0o400);
    await expectRefusal(open(), 'ReadOnly', { message: expect.stringContaining('this user may not write it') });
  });
});

describe('a data file of another format', () => {
  const nothing: EngineCommit = { append: [], remove: [], meta: new Map(), leases: new Map() };

  /** As the version before the seal wrote it. */
  async function writeFormat(format: number): Promise<void> {
    mkdirSync(dataDir);
    const engine = openLmdbEngine({ file, isDurable: false });
    const append = [2, 3, 4].map((revision) => ({
      revision,
      sub: 0,
      record: encodeRecord({
        ...{ key: `k${revision}`, value: Buffer.from('old'), createRevision: revision, modRevision: revision },
        ...{ version: 1, lease: revision === 4 ? 9n : 0n },
      }),
    }));
    await engine.commit({ ...nothing, append, meta: new Map([['format', format]]), leases: new Map([[9n, 60]]) });
    await engine.close();
  }

  it('that is the one before is sealed as it is, and watched over from then on', async () => {
    await writeFormat(1);
    const store = await open();
    expect(await keysIn(store, everyKey)).toEqual(['k2', 'k3', 'k4']);
    expect(await store.leaseInfo(9n)).toMatchObject({ keys: ['k4'] });
    expect(await put(store, 'new')).toBe(5);
    await store.close();
    const again = await open();
    expect(await keysIn(again, everyKey)).toEqual(['k2', 'k3', 'k4', 'new']);
    await again.close();
    truncateSync(file, 0);
    await expectRefusal(open(), 'Corrupt');
  });

  it('that is the one before, with a revision missing, is refused', async () => {
    await writeFormat(1);
    const engine = openLmdbEngine({ file, isDurable: false });
    await engine.commit({ ...nothing, remove: [{ revision: 3, sub: 0 }] });
    await engine.close();
    await expectRefusal(open(), 'Corrupt', { message: expect.stringContaining('a change is missing before') });
  });

  it.each([
    [0, 'open it with the version that wrote it, save a snapshot'],
    [99, 'use the version that wrote it, or a newer one'],
  ])('that is %i is refused with advice of its own', async (format, advice) => {
    await writeFormat(format);
    await expectRefusal(open(), 'UnsupportedFormat', { message: expect.stringContaining(advice) });
  });
});
