import { expect, it } from 'vitest';
import { readYamlAside, readYamlBytes } from './yaml-aside.ts';
import { readYaml, YamlSyntaxError } from './yaml-reader.ts';

const { signal } = new AbortController();
const lines = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => line(i)).join('');
const bytesOf = (text: string) => Buffer.from(text);

it('what is read aside is what is read on the spot, numbers and duplicates included', async () => {
  const text = `a: 9007199254740993\nb: [1.5, true, "x"]\na: 1\n${lines(20_000, (i) => `k${i}: v\n`)}`;
  const bytes = bytesOf(text);
  await readYamlAside(bytes, { signal });
  expect(readYamlBytes(bytes)).toEqual(readYaml(text));
  expect(readYamlBytes(bytes).duplicates).toEqual(['line 3: key "a" already set in map']);
  expect(readYamlBytes(bytes).value).not.toBe(readYamlBytes(bytes).value);
});

it('a fault is told when the value is asked for, in the same words', async () => {
  const text = `${lines(20_000, (i) => `k${i}: v\n`)}x: [`;
  const bytes = bytesOf(text);
  await readYamlAside(bytes, { signal });
  const fault = faultOf(() => readYamlBytes(bytes));
  expect(fault).toBeInstanceOf(YamlSyntaxError);
  expect(String(fault)).toBe(String(faultOf(() => readYaml(text))));
});

it('bytes that nobody has read aside are read on the spot', () => {
  expect(readYamlBytes(bytesOf('a: 1'))).toEqual({ value: { a: 1 }, duplicates: [] });
});

it('many at once each get their own, and who leaves waits no longer', async () => {
  const texts = Array.from({ length: 5 }, (_, i) => `id: ${i}\n${lines(10_000, (k) => `k${k}: v\n`)}`);
  const all = texts.map(bytesOf);
  const leaving = new AbortController();
  const left = readYamlAside(bytesOf(texts[0]!), leaving);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await Promise.all(all.map((bytes) => readYamlAside(bytes, { signal })));
  expect(all.map((bytes) => (readYamlBytes(bytes).value as { id: number }).id)).toEqual([0, 1, 2, 3, 4]);
});

it('a map of more entries than there may be is refused', async () => {
  const text = lines(65_537, (i) => `k${i}: v\n`);
  expect(String(faultOf(() => readYaml(text)))).toMatch(/yaml: line 65537: a map with more than 65536 entries/);
});

function faultOf(read: () => unknown): unknown {
  try {
    read();
    return undefined;
  } catch (err) {
    return err;
  }
}
