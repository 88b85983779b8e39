/** Files of bbolt, written and read back; that bbolt itself reads them is shown with etcd's tools in test/contract/. */
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isStoreError } from '../errors.ts';
import { BboltReader } from './bbolt-reader.ts';
import { BboltWriter } from './bbolt-writer.ts';
import { decodeRevisionKey, encodeRevisionKey } from './revision-key.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longwatch-bbolt-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Buckets = Record<string, [key: string, valueBytes: number][]>;

async function write(file: string, buckets: Buckets): Promise<number> {
  await using handle = await open(file, 'w');
  const writer = new BboltWriter(handle);
  for (const [name, entries] of Object.entries(buckets)) {
    for (const [key, size] of entries) writer.add(Buffer.from(key), Buffer.alloc(size, size));
    writer.endBucket(name);
    await writer.flush();
  }
  return await writer.finish();
}

async function read(file: string, bytes: number, names: readonly string[]): Promise<Buckets> {
  await using handle = await open(file, 'r');
  const reader = await BboltReader.open(handle, bytes);
  const buckets: Buckets = {};
  for (const name of names) {
    buckets[name] = [];
    for await (const leaf of reader.entries(name))
      for (const { key, value } of leaf) buckets[name].push([key.toString(), value.length]);
  }
  return buckets;
}

it('what was written is read, whatever the sizes', async () => {
  const entries = fc
    .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,40}$/), fc.oneof(fc.nat(100), fc.nat(20_000))), {
      selector: ([key]) => key,
      maxLength: 300,
    })
    .map((list) => list.sort(([a], [b]) => (a < b ? -1 : 1)));
  const file = join(folder, 'any');
  await fc.assert(
    fc.asyncProperty(entries, entries, async (b, a) => {
      const bytes = await write(file, { b, a, none: [] });
      expect((await readFile(file)).length).toBe(bytes);
      expect(await read(file, bytes, ['a', 'b', 'none'])).toEqual({ a, b, none: [] });
    }),
    { numRuns: 30 },
  );
});

it('a tree of several levels is in order', async () => {
  const many = Array.from({ length: 60_000 }, (_, i): [string, number] => [String(i).padStart(17, '0'), i % 20]);
  const bytes = await write(join(folder, 'many'), { many });
  expect((await read(join(folder, 'many'), bytes, ['many'])).many).toEqual(many);
});

it('a file that lies is refused, and never makes the reader run on', async () => {
  const file = join(folder, 'lies');
  const entries = Array.from({ length: 2000 }, (_, i): [string, number] => [String(i).padStart(6, '0'), 30]);
  const bytes = await write(file, { a: entries, b: [['x', 9000]] });
  const whole = await readFile(file);
  const seeds = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 40 });
  // Mostly where structure is: the beginnings of pages.
  const places = fc.array(fc.tuple(fc.nat(bytes / 4096 - 1), fc.nat(80), fc.nat(255)), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(seeds, places, async (anywhere, atStarts) => {
      const damaged = Buffer.from(whole);
      for (const [at, byte] of anywhere) damaged[at] = byte;
      for (const [page, at, byte] of atStarts) damaged[page * 4096 + at] = byte;
      await writeFile(file, damaged);
      await read(file, bytes, ['a', 'b']).catch((err: unknown) => {
        if (!isStoreError(err, 'Corrupt')) throw err;
      });
    }),
    { numRuns: 150 },
  );
});

it('a revision is a key and back, and nothing else is one', () => {
  for (const isDelete of [false, true])
    for (const revision of [1, 255, 2 ** 40]) {
      const key = { revision, sub: 3, isDelete };
      expect(decodeRevisionKey(encodeRevisionKey(key))).toEqual(key);
    }
  expect(decodeRevisionKey(Buffer.from('no'))).toBeUndefined();
  expect(decodeRevisionKey(Buffer.alloc(17))).toBeUndefined();
});
