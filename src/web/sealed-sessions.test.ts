import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { SealedSessions } from './sealed-sessions.ts';

const HOUR = 3_600_000;
const secret = randomBytes(32);

it('a session needs both of its secrets, and counts wherever the key is', () => {
  const sessions = new SealedSessions(secret, HOUR);
  const { cookie, page } = sessions.open('a token')!;
  const another = sessions.open('another')!;
  expect(new SealedSessions(secret, HOUR).readerOf(cookie, page)).toBe('a token');
  for (const [one, two] of [
    [cookie, undefined],
    [undefined, page],
    [cookie, another.page],
    [page, cookie],
    ['', ''],
    [`${cookie}A`, page],
    [cookie.slice(0, 20), page],
  ])
    expect(sessions.readerOf(one, two)).toBeUndefined();
  expect(sessions.ownerOf(another.cookie)).toBe('another');
});

it('what another key has sealed, or somebody has changed, opens nothing', () => {
  const sessions = new SealedSessions(secret, HOUR);
  const { cookie, page } = sessions.open('a token')!;
  expect(new SealedSessions(randomBytes(32), HOUR).readerOf(cookie, page)).toBeUndefined();
  const bytes = Buffer.from(cookie, 'base64url');
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i]! ^= 1;
    expect(sessions.ownerOf(changed.toString('base64url'))).toBeUndefined();
  }
});

it('does not show what it stands for', () => {
  const { cookie, page } = new SealedSessions(secret, HOUR).open('a-token-that-is-secret')!;
  expect(Buffer.from(cookie, 'base64url').toString('latin1') + page).not.toContain('secret');
});

it('a session ends with its time', () => {
  let now = 0;
  const sessions = new SealedSessions(secret, 10, () => now);
  const { cookie } = sessions.open('me')!;
  now = 9;
  expect(sessions.ownerOf(cookie)).toBe('me');
  now = 10;
  expect(sessions.ownerOf(cookie)).toBeUndefined();
});

it('a credential that no cookie can hold has no session', () => {
  expect(new SealedSessions(secret, HOUR).open('x'.repeat(4000))).toBeUndefined();
});
