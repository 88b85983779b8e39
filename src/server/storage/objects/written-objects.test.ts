import { expect, it } from 'vitest';
import type { StoredObject } from './stored-object.ts';
import { WrittenObjects } from './written-objects.ts';

const object = (key: string, revision: number) => ({ key, revision }) as StoredObject;

it('what was written is taken once, by its key and revision', () => {
  const written = new WrittenObjects(0);
  const one = object('ns/a', 7);
  written.note(one);
  expect(written.take('ns/b', 7)).toBeUndefined();
  expect(written.take('ns/a', 8)).toBeUndefined();
  expect(written.take('ns/a', 7)).toBe(one);
  expect(written.take('ns/a', 7)).toBeUndefined();
});

it('of what nobody takes only the last is kept', () => {
  const written = new WrittenObjects(0);
  for (let revision = 1; revision <= 1000; revision++) written.note(object('ns/a', revision));
  const left = Array.from({ length: 1000 }, (_, i) => written.take('ns/a', i + 1)).filter(Boolean);
  expect(left.map((one) => one!.revision)).toEqual(Array.from({ length: 64 }, (_, i) => 937 + i));
});

it('what was heard of before nobody will take, and so it is not kept', () => {
  const written = new WrittenObjects(3);
  written.note(object('ns/a', 3));
  written.heard(7);
  written.note(object('ns/b', 7));
  written.note(object('ns/c', 8));
  expect([written.take('ns/a', 3), written.take('ns/b', 7)]).toEqual([undefined, undefined]);
  expect(written.take('ns/c', 8)).toMatchObject({ revision: 8 });
});
