import { expect, it } from 'vitest';
import { sharedObject, sharedText } from './shared-objects.ts';

it('equal texts are one object, which nobody can change and which knows its text', () => {
  const text = '{"f:a":{"f:b":{}}}';
  const object = sharedObject(text);
  expect(sharedObject(`${text.slice(0, 8)}${text.slice(8)}`)).toBe(object);
  expect(JSON.stringify(object)).toBe(text);
  expect(sharedText(object)).toBe(text);
  expect(sharedText({ ...object })).toBeUndefined();
  expect(() => Object.assign(object['f:a']!, { x: 1 })).toThrow(TypeError);
});

it('what is kept is bounded: of many texts the first are made anew', () => {
  const first = sharedObject('{"f:first":{}}');
  const name = 'x'.repeat(60 * 1024);
  for (let i = 0; i < 80; i++) sharedObject(`{"f:${name}${i}":{}}`);
  expect(sharedObject('{"f:first":{}}')).not.toBe(first);
});
