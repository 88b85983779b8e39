import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomFrom } from '../../../../test/support/random.ts';
import { type TemporaryDir, temporaryDir } from '../../../../test/support/temporary-dir.ts';
import type { EngineCommit, LogEntry, LogPosition } from '../engine/engine.ts';
import { openLmdbEngine } from './lmdb-engine.ts';
import { checkLmdbFile } from './lmdb-file-check.ts';
import { HEADER_BYTES, PAGE_BYTES, PAGE_FLAGS } from './lmdb-pages.ts';

const nothing: EngineCommit = { append: [], remove: [], meta: new Map(), leases: new Map() };

let dir: TemporaryDir;
let file: string;
beforeEach(async () => {
  dir = await temporaryDir();
  file = join(dir.path, 'data.mdb');
});
afterEach(() => dir[Symbol.asyncDispose]());

async function write(commits: readonly Partial<EngineCommit>[]): Promise<void> {
  const engine = openLmdbEngine({ file, isDurable: false });
  for (const commit of commits) await engine.commit({ ...nothing, ...commit, seal: Buffer.alloc(92, 's') });
  await engine.close();
}

const entries = (from: number, to: number, bytes = 500): LogEntry[] =>
  Array.from({ length: to - from }, (_, i) => ({ revision: from + i, sub: 0, record: Buffer.alloc(bytes, 'r') }));

describe('a file of lmdb', () => {
  it('passes whatever was written to it and removed from it', async () => {
    const random = randomFrom(11);
    let there: LogPosition[] = [];
    let next = 2;
    for (let round = 0; round < 15; round++) {
      const commits = Array.from({ length: 6 }, () => {
        const append = entries(next, next + Math.floor(random() * 300), Math.floor(1 + random() ** 4 * 40_000));
        next += append.length;
        const remove = there.filter(() => random() < 0.2);
        there = [...there.filter((one) => !remove.includes(one)), ...append];
        return { append, remove, leases: new Map([[BigInt(next), next]]) };
      });
      await write(commits);
      await checkLmdbFile(file);
    }
  });

  it('passes when nothing was ever written', async () => {
    await write([]);
    await checkLmdbFile(file);
  });
});

describe('a page of the log', () => {
  let whole: Buffer;
  let page: number;
  beforeEach(async () => {
    await write([{ append: entries(2, 200) }, { append: entries(200, 210) }]);
    whole = readFileSync(file);
    page = newestLeafWith(209);
  });

  /** Where the leaf begins that holds this revision, in its newest copy. */
  function newestLeafWith(revision: number): number {
    const key = Buffer.alloc(12);
    key.writeUInt32BE(revision, 4);
    let newest = -1;
    for (let at = 2 * PAGE_BYTES; at < whole.length; at += PAGE_BYTES) {
      const isLeaf = whole.readUInt16LE(at + 18) === PAGE_FLAGS.leaf;
      if (!isLeaf || !whole.subarray(at, at + PAGE_BYTES).includes(key)) continue;
      if (newest < 0 || whole.readBigUInt64LE(at + 8) > whole.readBigUInt64LE(newest + 8)) newest = at;
    }
    return newest;
  }

  it.each<[what: string, damage: (bytes: Buffer) => void]>([
    ['one entry less', (bytes) => bytes.writeUInt16LE(bytes.readUInt16LE(page + 20) - 2, page + 20)],
    ['one entry more', (bytes) => bytes.writeUInt16LE(bytes.readUInt16LE(page + 20) + 2, page + 20)],
    ['no entry', (bytes) => bytes.writeUInt16LE(0, page + 20)],
    [
      'one entry twice',
      (bytes) => bytes.copyWithin(page + HEADER_BYTES, page + HEADER_BYTES + 2, page + HEADER_BYTES + 4),
    ],
    ['another number', (bytes) => bytes.writeUInt8(bytes[page]! ^ 1, page)],
    ['a newer transaction', (bytes) => bytes.writeUInt8(0xff, page + 9)],
    ['another kind', (bytes) => bytes.writeUInt16LE(PAGE_FLAGS.branch, page + 18)],
    ['a pointer out of it', (bytes) => bytes.writeUInt16LE(0xfffe, page + HEADER_BYTES)],
    ['two pointers in the wrong order', (bytes) => swap16(bytes, page + HEADER_BYTES)],
  ])('with %s is found', async (_what, damage) => {
    await checkLmdbFile(file);
    const bytes = Buffer.from(whole);
    damage(bytes);
    expect(bytes.equals(whole)).toBe(false);
    writeFileSync(file, bytes);
    await expect(checkLmdbFile(file)).rejects.toMatchObject({
      code: 'Corrupt',
      message: expect.stringMatching(`its page ${page / PAGE_BYTES} |its table log`),
    });
  });
});

function swap16(bytes: Buffer, at: number): void {
  const [first, second] = [bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
  bytes.writeUInt16LE(second, at);
  bytes.writeUInt16LE(first, at + 2);
}
