import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryDir, temporaryDir } from '../../../../test/support/temporary-dir.ts';
import type { EngineCommit, LogEngine, LogEntry } from '../engine/engine.ts';
import { openLmdbEngine } from './lmdb-engine.ts';

let dir: TemporaryDir;
let file: string;
let engine: LogEngine;

beforeEach(async () => {
  dir = await temporaryDir();
  file = join(dir.path, 'data.mdb');
  engine = openLmdbEngine({ file, isDurable: false });
});
afterEach(async () => {
  await engine.close();
  await dir[Symbol.asyncDispose]();
});

const nothing: EngineCommit = { append: [], remove: [], meta: new Map(), leases: new Map() };

/** A record whose every byte tells where it belongs. */
function entry(revision: number, sub = 0, length = 20): LogEntry {
  return { revision, sub, record: Buffer.alloc(length, `${revision}/${sub};`) };
}

const append = (...entries: LogEntry[]) => engine.commit({ ...nothing, append: entries });
const places = (entries: readonly LogEntry[]) => entries.map(({ revision, sub }) => `${revision}/${sub}`);

async function reopen(): Promise<void> {
  await engine.close();
  engine = openLmdbEngine({ file, isDurable: false });
}

describe('the log', () => {
  it('gives back what was appended, also when opened again', async () => {
    const entries = [entry(2), entry(3, 0, 1), entry(3, 1), entry(4)];
    await append(...entries);
    for (let pass = 0; pass < 2; pass++) {
      expect(engine.scan(0, 100, 1e6)).toEqual(entries);
      for (const one of entries) expect(engine.read(one)).toEqual(one.record);
      expect(engine.read({ revision: 3, sub: 2 })).toBeUndefined();
      await reopen();
    }
  });

  it('removes records by place, and none that is not there', async () => {
    await append(entry(2), entry(3, 0), entry(3, 1), entry(4));
    await engine.commit({ ...nothing, remove: [entry(2), entry(3, 0), entry(9)] });
    expect(places(engine.scan(0, 100, 1e6))).toEqual(['3/1', '4/0']);
  });

  it('keeps the order of revisions beyond 32 bits', async () => {
    const revisions = [2, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 40 + 7, 2 ** 53 - 1];
    await append(...revisions.map((revision) => entry(revision)));
    expect(engine.scan(0, 100, 1e6).map(({ revision }) => revision)).toEqual(revisions);
    expect(places(engine.scan(2 ** 32, 1, 1e6))).toEqual([`${2 ** 32}/0`]);
    expect(engine.read({ revision: 2 ** 40 + 7, sub: 0 })).toEqual(entry(2 ** 40 + 7).record);
  });

  it.each([
    ['below the end', entry(3)],
    ['at the end', entry(5, 1)],
    ['at an earlier place of the last revision', entry(5, 0)],
  ])('refuses to append %s, and keeps what it had', async (_where, wrong) => {
    await append(entry(2), entry(5, 0), entry(5, 1));
    const other = { ...wrong, record: Buffer.from('other') };
    await expect(append(other)).rejects.toThrow(
      `Cannot commit to ${JSON.stringify(file)}: record ${wrong.revision} is not above the end of the log`,
    );
    expect(engine.scan(0, 100, 1e6)).toEqual([entry(2), entry(5, 0), entry(5, 1)]);
  });

  it('shows nothing of a commit before it has resolved', async () => {
    const done = append(entry(2), entry(3));
    expect(engine.scan(0, 100, 1e6)).toEqual([]);
    expect(engine.read(entry(2))).toBeUndefined();
    await done;
    expect(engine.scan(0, 100, 1e6)).toHaveLength(2);
  });
});

describe('a visit', () => {
  const seen = (from: { revision: number; sub: number }, records: number, bytes = 1e6) => {
    const found: LogEntry[] = [];
    const next = engine.visit(from, { records, bytes }, ({ record, ...place }) =>
      found.push({ ...place, record: Buffer.from(record) }),
    );
    return { found, next };
  };

  it('shows every record in order, from where the last one ended, also inside a revision', async () => {
    const entries = [entry(2), entry(3, 0), entry(3, 1, 5000), entry(3, 2), entry(9)];
    await append(...entries);
    const found: LogEntry[] = [];
    let from: { revision: number; sub: number } | undefined = { revision: 0, sub: 0 };
    while (from) {
      const step = seen(from, 2);
      expect(step.found.length).toBeLessThanOrEqual(2);
      found.push(...step.found);
      from = step.next;
    }
    expect(found).toEqual(entries);
  });

  it('ends where enough bytes were shown', async () => {
    await append(entry(2, 0, 100), entry(3, 0, 100), entry(4, 0, 100));
    expect(seen({ revision: 0, sub: 0 }, 100, 150)).toMatchObject({ next: { revision: 4, sub: 0 } });
    expect(seen({ revision: 5, sub: 0 }, 100)).toEqual({ found: [], next: undefined });
  });
});

describe('letting go', () => {
  it('keeps everything, and can be read and written again at once', async () => {
    await append(entry(2, 0, 5000), entry(3));
    engine.read({ revision: 2, sub: 0 });
    expect(engine.heldBytes).toBeGreaterThanOrEqual(5000);
    for (let revision = 4; revision < 7; revision++) {
      await engine.letGo!();
      expect(engine.heldBytes).toBe(0);
      expect(engine.read({ revision: 2, sub: 0 })).toEqual(entry(2, 0, 5000).record);
      await append(entry(revision));
    }
    expect(places(engine.scan(0, 100, 1e6))).toEqual(['2/0', '3/0', '4/0', '5/0', '6/0']);
  });
});

describe('a scan', () => {
  beforeEach(() =>
    append(entry(2), ...[0, 1, 2, 3, 4].map((sub) => entry(3, sub)), entry(4), entry(5, 0), entry(5, 1)),
  );

  it.each<[limitRecords: number, limitBytes: number, last: string]>([
    [1, 1e6, '2/0'],
    [2, 1e6, '3/4'],
    [6, 1e6, '3/4'],
    [7, 1e6, '4/0'],
    [8, 1e6, '5/1'],
    [100, 1, '2/0'],
    [100, 21, '3/4'],
    [100, 1e6, '5/1'],
  ])('of up to %i records and %i bytes ends with %s: never inside a revision', (records, bytes, last) => {
    expect(places(engine.scan(0, records, bytes)).at(-1)).toBe(last);
  });

  it('starts at a revision, there or not', () => {
    expect(places(engine.scan(3, 1, 1e6))[0]).toBe('3/0');
    expect(places(engine.scan(6, 1, 1e6))).toEqual([]);
  });
});

describe('the bytes it returns', () => {
  const lengths = [1, 5, 100, 4_000, 9_000, 20_000, 300_000, 3_000_000];
  const entries = lengths.map((length, i) => entry(i + 2, 0, length));
  beforeEach(() => append(...entries));

  it('stay as they were, whatever is read, written or removed afterwards', async () => {
    const read = entries.map((one) => engine.read(one)!);
    const scanned = engine.scan(0, 100, 1e9).map(({ record }) => record);
    const inPieces = entries.flatMap(({ revision }) => engine.scan(revision, 1, 1)).map(({ record }) => record);
    for (let round = 0; round < 50; round++) {
      for (const one of entries) engine.read(one);
      engine.scan(0, 100, 1e9);
    }
    await append(...lengths.map((length, i) => entry(i + 100, 0, length)));
    await engine.commit({ ...nothing, remove: entries });
    await append(...lengths.map((length, i) => entry(i + 200, 0, length)));
    engine.scan(0, 100, 1e9);
    await reopen();
    for (const [i, { record }] of entries.entries()) {
      expect(read[i]!.equals(record), `read, ${record.length} bytes`).toBe(true);
      expect(scanned[i]!.equals(record), `scanned, ${record.length} bytes`).toBe(true);
      expect(inPieces[i]!.equals(record), `scanned alone, ${record.length} bytes`).toBe(true);
    }
  });

  it('are as long as what was written, in whatever order they are read', () => {
    for (const i of [7, 0, 6, 1, 5, 2, 4, 3, 0, 7, 0]) expect(engine.read(entries[i]!)).toHaveLength(lengths[i]!);
  });
});

describe('facts and leases', () => {
  it('come back, also when opened again', async () => {
    expect(engine.meta('format')).toBeUndefined();
    const leases = new Map([
      [1n, 10],
      [255n, 20],
      [256n, 9_000_000_000],
      [2n ** 63n - 1n, 2],
    ]);
    const meta = new Map([
      ['format', 1],
      ['compact.scheduled', 2 ** 53 - 1],
    ] as const);
    await engine.commit({ ...nothing, meta, leases });
    await engine.commit({ ...nothing, meta: new Map([['compact.finished', 0]]), leases: new Map([[255n, undefined]]) });
    leases.delete(255n);
    for (let pass = 0; pass < 2; pass++) {
      expect([engine.meta('format'), engine.meta('compact.scheduled'), engine.meta('compact.finished')]).toEqual([
        1,
        2 ** 53 - 1,
        0,
      ]);
      expect(engine.leases()).toEqual(leases);
      await reopen();
    }
  });
});

describe('the size', () => {
  it('in use grows with what is kept and shrinks with what is removed; the file does not shrink', async () => {
    const empty = engine.size();
    const entries = Array.from({ length: 200 }, (_, i) => entry(i + 2, 0, 10_000));
    await append(...entries);
    const full = engine.size();
    expect(full.usedBytes - empty.usedBytes).toBeGreaterThan(2_000_000);
    expect(full.fileBytes).toBeGreaterThanOrEqual(full.usedBytes);
    await engine.commit({ ...nothing, remove: entries });
    expect(engine.size().usedBytes).toBeLessThan(empty.usedBytes + 100_000);
    expect(engine.size().fileBytes).toBeGreaterThanOrEqual(full.fileBytes);
  });
});

describe('opening', () => {
  it('takes an empty file for a new one', async () => {
    const other = join(dir.path, 'empty.mdb');
    writeFileSync(other, '');
    await openLmdbEngine({ file: other, isDurable: false }).close();
  });

  it.each([1, 100, 20_000, 100_000])(
    'refuses %i bytes of something else, and leaves them as they are',
    async (length) => {
      const other = join(dir.path, 'other.mdb');
      writeFileSync(other, Buffer.alloc(length, 'something else '));
      expect(() => openLmdbEngine({ file: other, isDurable: false })).toThrow(
        expect.objectContaining({ code: 'Corrupt', message: expect.stringContaining('it is not a store of ours') }),
      );
      expect((await readFile(other)).equals(Buffer.alloc(length, 'something else '))).toBe(true);
    },
  );
});
