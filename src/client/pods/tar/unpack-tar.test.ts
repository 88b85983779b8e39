import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packTar } from './pack-tar.ts';
import { encodeHeader, padding, type TarEntry } from './tar-header.ts';
import { unpackTar } from './unpack-tar.ts';

let root: string;
let outside: string;
const at = (...path: string[]) => join(root, ...path);
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'longwatch-tar-'));
  outside = at('outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'precious'), 'kept');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Made = Partial<TarEntry> & { readonly name: string; readonly text?: string };

/** An archive of whatever, in pieces of an odd size. */
async function* archive(entries: readonly Made[], pieceBytes = 700): AsyncGenerator<Buffer, void, void> {
  const parts = entries.flatMap(({ text = '', kind = 'file', ...more }) => {
    const content = Buffer.from(text);
    const entry = { linkName: '', mode: 0o644, size: content.length, kind, ...more };
    return [encodeHeader(entry as never), content, padding(content.length)];
  });
  const whole = Buffer.concat([...parts, Buffer.alloc(1024)]);
  for (let from = 0; from < whole.length; from += pieceBytes) yield whole.subarray(from, from + pieceBytes);
}
const unpack = (entries: readonly Made[], skipped: string[] = []) =>
  unpackTar(archive(entries), at('target'), { name: 'top', onSkipped: (name) => void skipped.push(name) });
const link = (name: string, linkName: string): Made => ({ name, linkName, kind: 'symlink' });

describe('what is below the target', () => {
  it('files, folders and links are as they were, also with names and contents of every length', async () => {
    const long = `${'n'.repeat(90)}/`.repeat(3);
    const skipped: string[] = [];
    const told = await unpack(
      [
        { name: './top/', kind: 'folder', mode: 0o700 },
        { name: './top/empty/', kind: 'folder' },
        { name: 'top/none', text: '' },
        { name: 'top/block', text: 'b'.repeat(512) },
        { name: `top/${long}é`, text: 'deep', mode: 0o755 },
        { name: 'top/setuid', text: '', mode: 0o4755 },
        link('top/empty/up', '../block'),
        { name: 'top/second', linkName: 'top/block', kind: 'hardlink' },
      ],
      skipped,
    );
    expect([told, skipped]).toEqual([{ entries: 8, bytes: 516 }, []]);
    expect(readFileSync(at('target', `${long}é`), 'utf8')).toBe('deep');
    expect(readFileSync(at('target', 'empty/up'), 'utf8')).toBe('b'.repeat(512));
    expect(readFileSync(at('target', 'second'), 'utf8')).toBe('b'.repeat(512));
    expect(statSync(at('target', 'setuid')).mode & 0o7000).toBe(0);
    expect(statSync(at('target', `${long}é`)).mode & 0o700).toBe(0o700);
  });

  it('a file in the way is replaced, also one that is a link; a folder is not', async () => {
    mkdirSync(at('target/folder'), { recursive: true });
    symlinkSync(join(outside, 'precious'), at('target/a'));
    writeFileSync(at('target/b'), 'old');
    await unpack([
      { name: 'top/a', text: 'new a' },
      { name: 'top/b', text: 'new b' },
    ]);
    expect([readFileSync(at('target/a'), 'utf8'), readFileSync(at('target/b'), 'utf8')]).toEqual(['new a', 'new b']);
    await expect(unpack([{ name: 'top/folder', text: '' }])).rejects.toThrow(
      'it holds "folder", where there is a folder',
    );
  });

  it('is what GNU tar packs, and what we pack it unpacks', async () => {
    mkdirSync(at('from/deep', 'x'.repeat(120)), { recursive: true });
    writeFileSync(at('from/deep', 'x'.repeat(120), 'y'.repeat(200)), Buffer.alloc(300_000, 'z'));
    writeFileSync(at('from/run'), '#!', { mode: 0o755 });
    symlinkSync('../run', at('from/deep/link'));
    symlinkSync(`${'x'.repeat(120)}/${'y'.repeat(200)}`, at('from/deep/long'));
    for (const format of ['gnu', 'pax']) {
      const packed = execFileSync('tar', ['-c', `--format=${format}`, '-C', root, 'from'], { maxBuffer: 1e8 });
      await unpackTar(pieces(packed), at(format), { name: 'from' });
      expect(tree(at(format))).toEqual(tree(at('from')));
    }
    const ours: Buffer[] = [];
    for await (const piece of packTar(at('from'), { name: 'ours' })) ours.push(piece);
    execFileSync('tar', ['-x', '-C', root], { input: Buffer.concat(ours) });
    expect(tree(at('ours'))).toEqual(tree(at('from')));
  });
});

describe('nothing outside the target', () => {
  it.each([
    ['an absolute name', [{ name: '/tmp/evil', text: 'x' }]],
    ['a name that goes up', [{ name: 'top/../../evil', text: 'x' }]],
    ['a name beside the one that was asked for', [{ name: 'other/evil', text: 'x' }]],
    ['a name with a zero in it', [{ name: `top/${'a'.repeat(120)}\0b`, text: 'x' }]],
    [
      'a second name of a file elsewhere',
      [{ name: 'top/a', linkName: '../outside/precious', kind: 'hardlink' as const }],
    ],
    [
      'a second name of what is no file',
      [link('top/l', 'x'), { name: 'top/a', linkName: 'top/l', kind: 'hardlink' as const }],
    ],
    ['a name that is too long', [{ name: `top/${'a/'.repeat(3000)}`, text: 'x' }]],
  ])('%s is refused', async (_what, entries) => {
    await expect(unpack(entries)).rejects.toThrow(/^(it holds|a name in it)/);
    expect(readdirSync(root).sort()).toEqual(existsSync(at('target')) ? ['outside', 'target'] : ['outside']);
  });

  it('links that leave are left out and told; those that stay are made, when all else is written', async () => {
    const skipped: string[] = [];
    const leaving = ['/etc', '..', '../..', 'a/../..', 'in/..', ''].map((to, n) => link(`top/l${n}`, to));
    await unpack(
      [
        ...leaving,
        link('top/in', '../outside'),
        link('top/sub/up', '../file'),
        { name: 'top/in/file', text: 'written to a folder' },
        { name: 'top/file', text: 'f' },
      ],
      skipped,
    );
    expect(skipped).toEqual([...leaving.map(({ name }) => name), 'top/in']);
    expect(readlinkSync(at('target/sub/up'))).toBe('../file');
    expect(lstatSync(at('target/in')).isDirectory()).toBe(true);
    expect(tree(outside)).toEqual({ precious: 'kept' });
  });

  it('a link that was there before is not written through', async () => {
    mkdirSync(at('target'));
    symlinkSync(outside, at('target/in'));
    await expect(unpack([{ name: 'top/in/precious', text: 'x' }])).rejects.toThrow('where there is something else');
    expect(tree(outside)).toEqual({ precious: 'kept' });
  });
});

describe('an archive that is not one', () => {
  const good = async (cut: (bytes: Buffer) => Buffer) => {
    const bytes: Buffer[] = [];
    for await (const piece of archive([{ name: 'top', text: 'x'.repeat(2000) }])) bytes.push(piece);
    return unpackTar(pieces(cut(Buffer.concat(bytes))), at('target'), { name: 'top', limitBytes: 2000 });
  };
  it.each<[string, (bytes: Buffer) => Buffer, string]>([
    ['ends in a file', (bytes) => bytes.subarray(0, 1000), 'it ends in the middle of a file'],
    ['ends in a header', (bytes) => bytes.subarray(0, 200), 'it ends in the middle of a header'],
    ['is something else', () => Buffer.alloc(5000, 'x'), 'its header is damaged'],
    ['has a header that is too long', () => long('x'), 'a header of it is over 65536 bytes'],
    ['has a name that is too long', () => long('L'), 'a header of it is over 65536 bytes'],
  ])('that %s is refused', async (_what, cut, sentence) => {
    await expect(good((bytes) => bytes)).resolves.toEqual({ entries: 1, bytes: 2000 });
    await expect(good(cut)).rejects.toThrow(sentence);
  });

  it('that holds more than it may is refused before it is written', async () => {
    const entries = [{ name: 'top', text: 'x'.repeat(3000) }];
    const packed = unpackTar(archive(entries), at('target'), { name: 'top', limitBytes: 2999 });
    await expect(packed).rejects.toThrow('it holds over 2999 bytes');
    expect(existsSync(at('target'))).toBe(false);
  });
});

/** A header of a header, of 100,000 bytes. */
function long(type: string): Buffer {
  const bytes = encodeHeader({ name: 'x', kind: 'file', size: 100_000, mode: 0, linkName: '' });
  const sum =
    bytes.reduce((all, byte) => all + byte, 0) - bytes.subarray(148, 156).reduce((all, byte) => all + byte, 0);
  const difference = type.charCodeAt(0) - bytes[156]!;
  bytes.write(type, 156);
  bytes.write(`${(sum + 8 * 32 + difference).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([bytes, Buffer.alloc(102_400)]);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  for (let from = 0; from < bytes.length; from += 65_536) yield bytes.subarray(from, from + 65_536);
}

/** What is there: texts of files, targets of links, folders within. */
function tree(path: string): unknown {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
  if (stat.isFile()) return readFileSync(path, 'utf8');
  return Object.fromEntries(readdirSync(path).map((name) => [name, tree(join(path, name))]));
}
