import { expect, it } from 'vitest';
import { OvertakenError } from '../storage/object-storage.ts';
import { UniqueWrites } from './unique-writes.ts';

const { signal } = new AbortController();
const turns = async (count = 20) => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

const still = async () => true;

it('one is written after the other, and one that was overtaken again at once, for as long as it may be', async () => {
  const writes = new UniqueWrites();
  const seen: string[] = [];
  const attempt = (name: string, overtaken: number) => {
    let left = overtaken;
    return async () => {
      seen.push(`${name} begins`);
      await turns();
      if (left-- > 0) throw new OvertakenError();
      seen.push(`${name} is written`);
      return name;
    };
  };
  const [a, b, c] = ['a', 'b', 'c'].map((name, i) =>
    writes.run(signal, attempt(name, [1, 1, 0][i]!), async () => {
      seen.push(`${name} is looked at again`);
      return name !== 'b';
    }),
  );
  await expect(b).rejects.toThrow(OvertakenError);
  expect(await Promise.all([a, c])).toEqual(['a', 'c']);
  expect(seen).toEqual([
    'a begins',
    'a is looked at again',
    'a begins',
    'a is written',
    'b begins',
    'b is looked at again',
    'c begins',
    'c is written',
  ]);
});

it('what else goes wrong is told, and holds nobody up', async () => {
  const writes = new UniqueWrites();
  const failing = writes.run(signal, () => Promise.reject(new Error('no room')), still);
  const next = writes.run(signal, () => Promise.resolve('next'), still);
  await expect(failing).rejects.toThrow('no room');
  expect(await next).toBe('next');
});

it('one that takes long loses its place, and who has gone is not served', async () => {
  const writes = new UniqueWrites();
  let finish = (_: string) => {};
  const slow = writes.run(signal, () => new Promise<string>((resolve) => (finish = resolve)), still);
  const gone = writes.run(AbortSignal.abort(new Error('gone')), () => Promise.resolve('never'), still);
  const next = writes.run(signal, () => Promise.resolve('next'), still);
  await expect(gone).rejects.toThrow('gone');
  expect(await next).toBe('next');
  finish('slow');
  expect(await slow).toBe('slow');
});

it('one that goes while it waits is told at once, and those behind it keep their places', async () => {
  const writes = new UniqueWrites();
  let finish = (_: string) => {};
  const first = writes.run(signal, () => new Promise<string>((resolve) => (finish = resolve)), still);
  const going = new AbortController();
  const gone = writes.run(going.signal, () => Promise.resolve('never'), still);
  let hasBegun = false;
  const next = writes.run(
    signal,
    async () => {
      hasBegun = true;
      return 'next';
    },
    still,
  );
  going.abort(new Error('gone'));
  await expect(gone).rejects.toThrow('gone');
  await turns();
  expect(hasBegun).toBe(false);
  finish('first');
  expect(await Promise.all([first, next])).toEqual(['first', 'next']);
});
