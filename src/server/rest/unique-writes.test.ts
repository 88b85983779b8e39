import { expect, it } from 'vitest';
import { OvertakenError } from '../storage/object-storage.ts';
import { UniqueWrites } from './unique-writes.ts';

const { signal } = new AbortController();
const turns = async (count = 20) => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

it('one is prepared after the other, and one that was overtaken anew, behind those who came meanwhile', async () => {
  const writes = new UniqueWrites();
  const seen: string[] = [];
  let left = 1;
  const attempt = (name: string) => async () => {
    seen.push(`${name} begins`);
    await turns();
    if (name === 'a' && left-- > 0) throw new OvertakenError();
    seen.push(`${name} is written`);
    return name;
  };
  expect(await Promise.all(['a', 'b'].map((name) => writes.run(signal, attempt(name))))).toEqual(['a', 'b']);
  expect(seen).toEqual(['a begins', 'b begins', 'b is written', 'a begins', 'a is written']);
});

it('what else goes wrong is told, and holds nobody up', async () => {
  const writes = new UniqueWrites();
  const failing = writes.run(signal, () => Promise.reject(new Error('no room')));
  const next = writes.run(signal, () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no room');
  expect(await next).toBe('next');
});

it('one that takes long loses its place, and who has gone is not served', async () => {
  const writes = new UniqueWrites();
  let finish = (_: string) => {};
  const slow = writes.run(signal, () => new Promise<string>((resolve) => (finish = resolve)));
  const gone = writes.run(AbortSignal.abort(new Error('gone')), () => Promise.resolve('never'));
  const next = writes.run(signal, () => Promise.resolve('next'));
  await expect(gone).rejects.toThrow('gone');
  expect(await next).toBe('next');
  finish('slow');
  expect(await slow).toBe('slow');
});

it('one that goes while it waits is told at once, and those behind it keep their places', async () => {
  const writes = new UniqueWrites();
  let finish = (_: string) => {};
  const first = writes.run(signal, () => new Promise<string>((resolve) => (finish = resolve)));
  const going = new AbortController();
  const gone = writes.run(going.signal, () => Promise.resolve('never'));
  let hasBegun = false;
  const next = writes.run(signal, async () => {
    hasBegun = true;
    return 'next';
  });
  going.abort(new Error('gone'));
  await expect(gone).rejects.toThrow('gone');
  await turns();
  expect(hasBegun).toBe(false);
  finish('first');
  expect(await Promise.all([first, next])).toEqual(['first', 'next']);
});
