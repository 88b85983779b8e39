import { expect, it } from 'vitest';
import type { StoredObject } from './stored-object.ts';
import { WrittenObjects } from './written-objects.ts';

const object = (key: string, revision: number) => ({ key, revision }) as StoredObject;

it('what was written is taken once, by its key and revision', () => {
  const written = new WrittenObjects();
  const one = object('ns/a', 7);
  written.note(one);
  expect(written.take('ns/b', 7)).toBeUndefined();
  expect(written.take('ns/a', 8)).toBeUndefined();
  expect(written.take('ns/a', 7)).toBe(one);
  expect(written.take('ns/a', 7)).toBeUndefined();
});

it('of what nobody takes only the last is kept', () => {
  const written = new WrittenObjects();
  for (let revision = 1; revision <= 1000; revision++) written.note(object('ns/a', revision));
  const left = Array.from({ length: 1000 }, (_, i) => written.take('ns/a', i + 1)).filter(Boolean);
  expect(left.map((one) => one!.revision)).toEqual(Array.from({ length: 64 }, (_, i) => 937 + i));
});
