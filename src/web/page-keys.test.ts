import { expect, it } from 'vitest';
import { cookieIn, PageKeys } from './page-keys.ts';

it('a key is good once, and a session needs both of its secrets', () => {
  const keys = new PageKeys<string>();
  const key = keys.issue('alice');
  const { cookie, page } = keys.exchange(key)!;
  expect(keys.exchange(key)).toBeUndefined();
  expect(keys.readerOf(cookie, page)).toBe('alice');
  const another = keys.open('bob');
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

it('who opens many sessions puts out their own, not those of others', () => {
  const keys = new PageKeys<string>({ limit: 100, ownLimit: 3 });
  const other = keys.open('other');
  const mine = Array.from({ length: 200 }, () => keys.open('me'));
  expect(keys.ownerOf(other.cookie)).toBe('other');
  expect(mine.filter(({ cookie }) => keys.ownerOf(cookie)).length).toBe(3);
});

it('a session ends with its time', () => {
  let now = 0;
  const keys = new PageKeys<string>({ lifetimeMs: 10, now: () => now });
  const { cookie } = keys.open('me');
  now = 9;
  expect(keys.ownerOf(cookie)).toBe('me');
  now = 10;
  expect(keys.ownerOf(cookie)).toBeUndefined();
});

it.each([
  [undefined, undefined],
  ['', undefined],
  ['a=1; b=2', '2'],
  ['ab=1;b=', ''],
  ['b; b=3', '3'],
])('the cookie b in %j is %j', (header, want) => expect(cookieIn(header, 'b')).toBe(want));
