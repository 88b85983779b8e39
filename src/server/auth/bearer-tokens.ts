/**
 * Tokens known from the start: the administrator's, and those of a file as kube-apiserver takes it
 * (`token,user,uid,"group1,group2"`, one per line).
 *
 * Always true: tokens are compared by their SHA-256, in constant time and against every entry, so that the time of an
 * answer tells nothing about how close a guess was or which entry it met.
 */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, asAuthenticated, type Verdict } from './authenticator.ts';
import { digestOf } from './token-digest.ts';

export type KnownToken = { readonly token: string; readonly user: UserInfo };

export function adminToken(token: string): KnownToken {
  return { token, user: { username: 'kubernetes-admin', uid: 'kubernetes-admin', groups: ['system:masters'] } };
}

/** `know` puts others in the place of the tokens that were known. */
export type TokenAuthenticator = Authenticator & { know(tokens: readonly KnownToken[]): void };

export function tokenAuthenticator(known: readonly KnownToken[]): TokenAuthenticator {
  const entriesOf = (tokens: readonly KnownToken[]) =>
    tokens.map(({ token, user }) => {
      const verdict: Verdict = { kind: 'known', user: asAuthenticated(user) };
      return { digest: digestOf(token), verdict };
    });
  let entries = entriesOf(known);
  return {
    know(tokens) {
      entries = entriesOf(tokens);
    },
    authenticate({ token }) {
      if (token === undefined) return { kind: 'silent' };
      const digest = digestOf(token);
      let found: Verdict = { kind: 'refused' };
      for (const entry of entries) if (timingSafeEqual(entry.digest, digest)) found = entry.verdict;
      return found;
    },
  };
}

export function readTokenFile(file: string): KnownToken[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (err) {
    throw new Error(`Cannot read the tokens in "${file}": ${(err as Error).message}`, { cause: err });
  }
  return parseTokens(text, file);
}

export function parseTokens(text: string, file: string): KnownToken[] {
  const tokens: KnownToken[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [token = '', username = '', uid = '', groups = ''] = csvFields(line);
    if (token === '' || username === '')
      throw new Error(
        `Cannot read the tokens in "${file}": line ${index + 1} is not token,user,uid,"group1,group2" with a token and a user`,
      );
    const names = groups.split(',').map((group) => group.trim());
    tokens.push({ token, user: { username, ...(uid && { uid }), groups: names.filter((group) => group !== '') } });
  }
  return tokens;
}

/** Fields of one line; quotes may hold commas, and two quotes stand for one. */
function csvFields(line: string): string[] {
  const fields: string[] = [];
  let field = '';
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (character === '"' && isQuoted && line[at + 1] === '"') {
      field += '"';
      at++;
    } else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      fields.push(field.trim());
      field = '';
    } else field += character;
  }
  return isQuoted ? fields : [...fields, field.trim()]; // what never ends is no field
}
