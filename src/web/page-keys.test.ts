import { expect, it } from 'vitest';
import { cookieIn, PageKeys } from './page-keys.ts';

it('a key is good once, and a session needs both of its secrets', () => {
  const keys = new PageKeys<string>();
  const key = keys.issue('alice');
  const { cookie, page } = keys.exchange(key)!;
  expect(keys.exchange(key)).toBeUndefined();
  expect(keys.readerOf(cookie, page)).toBe('alice');
  const another = keys.exchange(keys.issue('bob'))!;
  for (const [one, two] of [
    [cookie, undefined],
    [undefined, page],
    [cookie, another.page],
    [page, cookie],
    ['', ''],
  ])
    expect(keys.readerOf(one, two)).toBeUndefined();
  expect([keys.ownerOf(another.cookie), keys.ownerOf(page)]).toEqual(['bob', undefined]);
});

it.each([
  [undefined, undefined],
  ['', undefined],
  ['a=1; b=2', '2'],
  ['ab=1;b=', ''],
  ['b; b=3', '3'],
])('the cookie b in %j is %j', (header, want) => expect(cookieIn(header, 'b')).toBe(want));
