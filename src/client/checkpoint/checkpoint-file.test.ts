import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { change, header, object, type Plain, plain } from '../../../test/support/client/checkpoint-states.ts';
import type { AnyObject } from '../objects/objects.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { CheckpointReader, commitLine, deleteLine, headerLine, putLine } from './checkpoint-format.ts';

const batches = fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 5 });

/** A file of these batches, and the state after each with the place where it is complete. */
function written(all: readonly (readonly { name: string; isGone: boolean; text: string }[])[]) {
  const objects = new Map<string, AnyObject>();
  let text = headerLine(header);
  const points: { bytes: number; state: Plain }[] = [];
  let version = 0;
  for (const batch of all) {
    for (const { name, isGone, text: content } of batch) {
      version++;
      if (isGone) objects.delete(name);
      else objects.set(name, object(name, version, content));
      text += isGone ? deleteLine(name) : putLine(objects.get(name)!);
    }
    text += commitLine({ at: version, versions: { '*': `${version}` } });
    points.push({ bytes: Buffer.byteLength(text), state: plain(`${version}`, objects) });
  }
  return { bytes: Buffer.from(text), points };
}

function load(bytes: Buffer, pieceBytes = bytes.length || 1): Plain | string {
  const reader = new CheckpointReader();
  try {
    for (let from = 0; from < bytes.length; from += pieceBytes) reader.push(bytes.subarray(from, from + pieceBytes));
    const { versions, objects } = reader.finish();
    return plain(versions['*'], objects);
  } catch (error) {
    return (error as Error).message;
  }
}

it('a file that is cut at any byte is the state of the last commit before it, or of none', () => {
  fc.assert(
    fc.property(batches, fc.integer({ min: 1, max: 50 }), (all, pieceBytes) => {
      const { bytes, points } = written(all);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const last = points.filter((point) => point.bytes <= cut).at(-1);
        const got = load(bytes.subarray(0, cut), pieceBytes);
        if (last) expect(got).toEqual(last.state);
        else expect(got).toMatch(/^it (is empty|holds no whole state)$/);
      }
    }),
    { numRuns: 25 },
  );
});

it('a file with any byte changed is an earlier state, or is refused: never another', () => {
  fc.assert(
    fc.property(batches, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, place, flip) => {
      const { bytes, points } = written(all);
      const at = place % bytes.length;
      bytes[at] = bytes[at]! ^ flip;
      const got = load(bytes);
      if (typeof got !== 'string') expect(points.map(({ state }) => state)).toContainEqual(got);
    }),
    { numRuns: 500 },
  );
});

it.each<[what: string, text: string, why: string]>([
  [
    'a damaged line with good ones after it',
    `${headerLine(header)}00000000 +{}\n${commitLine({ at: 1, versions: {} })}`,
    'its line 2 is damaged',
  ],
  ['another format', headerLine({ ...header, format: 2 }), 'its format is 2, and not 1'],
  ['no header', commitLine({ at: 1, versions: {} }), 'its line 1 does not belong there'],
  ['something else', '{"hello":"world"}\n', 'its first line is damaged'],
  ['nothing', '', 'it is empty'],
])('%s is refused', (_what, text, why) => expect(load(Buffer.from(text))).toBe(why));

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await fs.rm(folder, { recursive: true, force: true });
});
async function folder(): Promise<string> {
  const path = await fs.mkdtemp(join(tmpdir(), 'longwatch-test-'));
  folders.push(path);
  return path;
}

it('what is gone on with has its torn end cut off, and nobody else may read it', async () => {
  const path = join(await folder(), 'f');
  const first = new CheckpointFile(path);
  await first.rewrite(header, [object('a', 1)], { at: 1, versions: { '*': '1' } });
  await first.close();
  await fs.appendFile(path, `${['b', 'bb', 'bbb'].map((name) => putLine(object(name, 2))).join('')}torn`);
  await fs.chmod(path, 0o644);
  const second = new CheckpointFile(path);
  const saved = await second.read();
  expect([...saved!.objects.keys()]).toEqual(['a']);
  await second.goOn(saved!);
  await second.append([['c', object('c', 3)]], { at: 3, versions: { '*': '3' } });
  await second.close();
  const third = await new CheckpointFile(path).read();
  expect([...third!.objects.keys()]).toEqual(['a', 'c']);
  expect((await fs.stat(path)).mode & 0o777).toBe(0o600);
  expect(await fs.readFile(path, 'utf8')).not.toContain('torn');
});

it('a file with much history is written anew', async () => {
  const path = join(await folder(), 'f');
  const file = new CheckpointFile(path);
  const big = 'x'.repeat(100_000);
  await file.rewrite(header, [object('a', 1, big)], { at: 0, versions: { '*': '1' } });
  let appends = 0;
  for (; !file.wantsRewrite; appends++)
    await file.append([['a', object('a', appends, big)]], { at: 0, versions: { '*': `${appends}` } });
  expect(file.bytes).toBeGreaterThan(4 * 1024 * 1024);
  expect(appends).toBeLessThan(60);
  await file.rewrite(header, [object('a', appends, big)], { at: 0, versions: { '*': '99' } });
  expect([file.wantsRewrite, file.bytes < 101_000]).toEqual([false, true]);
  await file.close();
});

it.runIf(process.platform === 'linux')(
  'a folder where there can be none is an error, not an endless attempt',
  async () => {
    await expect(new CheckpointFile('/proc/xx/yy/state').prepare()).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
