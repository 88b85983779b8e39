/**
 * Where a list in pages goes on: the revision of its snapshot and the key after the last one given. Opaque to clients;
 * it says everything itself, so it outlives a restart, and it is refused when it was tampered with.
 */
import { badRequest } from '../../../api/index.ts';
import { readJson } from '../../codec/json/json-reader.ts';

export type ContinueToken = {
  /** -1: whatever is newest. */
  readonly revision: number;
  /** The first key that may follow, relative to the resource: `namespace/name` or `name`. */
  readonly start: string;
};

const VERSION = 'meta.k8s.io/v1';

/** `scope` is the namespace with a slash, or nothing: what keys in the token are relative to. */
export function encodeToken({ revision, start }: ContinueToken, scope: string): string {
  const relative = start.startsWith(scope) ? start.slice(scope.length) : start;
  return Buffer.from(JSON.stringify({ v: VERSION, rv: revision, start: relative })).toString('base64url');
}

export function decodeToken(text: string, scope: string): ContinueToken {
  const fault = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  const wrongAt = text.length % 4 === 1 ? text.length - 1 : -1; // half a byte is left over
  const oddAt = text.search(/[^\w-]/); // padding too: the alphabet for URLs has none
  if (wrongAt >= 0 || oddAt >= 0) throw fault(`illegal base64 data at input byte ${oddAt >= 0 ? oddAt : wrongAt}`);
  let token: { v?: unknown; rv?: unknown; start?: unknown };
  try {
    token = readJson(Buffer.from(text, 'base64url').toString('utf8')).value as typeof token;
  } catch (err) {
    throw fault((err as Error).message);
  }
  if (typeof token !== 'object' || token === null || token.v !== VERSION)
    throw fault(`server does not recognize this encoded version ${JSON.stringify(token?.v ?? '')}`);
  if ((!Number.isSafeInteger(token.rv) && typeof token.rv !== 'bigint') || token.rv === 0)
    throw fault('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof token.start !== 'string' || token.start === '')
    throw fault('encoded start key empty (version meta.k8s.io/v1)');
  const start = token.start.replace(/^\//, '');
  if (start.split('/').some((part) => part === '..' || part === '.' || part === ''))
    throw fault(JSON.stringify(token.start).slice(1, -1));
  return { revision: Number(token.rv), start: scope + start };
}
