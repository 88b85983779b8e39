import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { digestOf } from './token-digest.ts';

it('is the SHA-256 of a token, also of one that was seen before, or long ago', () => {
  const tokens = Array.from({ length: 2000 }, (_, i) => `token-${i}-ÿ`);
  for (const token of [...tokens, ...tokens.reverse(), 'a'.repeat(5000), '', '\ud800', '\ufffd'])
    expect(digestOf(token)).toEqual(hash('sha256', token, 'buffer'));
});

it('makes it once for a token that comes again and again', () => {
  expect(digestOf('the same')).toBe(digestOf('the same'));
});
