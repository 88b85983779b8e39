/** Every request header the server reads, with every shape of text, long and, where lists are allowed, repeated. */
import { requestHeaders } from '../../support/victim/request-headers.ts';
import { requestCase, type ServerTarget, type StallRequest } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { printable, repeated, textShapes, times } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';
const VERSION: StallRequest = { path: '/version', as: 'nobody' };
const LIST: StallRequest = { path: `${MAPS}?limit=1` };

/** As long as one may be that is read; a token may be longer. */
const LONGEST = 8 * 1024 - 1;
const LONGEST_TOKEN = 32 * 1024 - 8;
/** Almost a whole head: refused, and that must not take long either. */
const BEYOND = 900 * 1024;
const MOST_HEADERS = 990;

export const headerCases: readonly StallCase<ServerTarget>[] = Object.entries(requestHeaders).flatMap(([name, where]) =>
  where.flatMap((request) =>
    Object.entries(textShapes).map(([shape, make]) =>
      headerCase(name, request, shape, (size) => printable(make(size))),
    ),
  ),
);

export const otherHeaderCases: readonly StallCase<ServerTarget>[] = [
  ...Object.keys(requestHeaders).map((name) =>
    headerCase(name, VERSION, 'beyond the limit', (size) => 'a,'.repeat(size / 2), BEYOND),
  ),
  headerCase('accept', LIST, 'clauses that fit nothing', (size) => 'application/json;as=Nothing,'.repeat(size / 28)),
  headerCase('accept', { ...LIST, as: 'nobody' }, 'clauses, without a credential', (size) => 'a;q=1,'.repeat(size / 6)),
  headerCase(
    'authorization',
    { path: '/version' },
    'a bearer token of spaces',
    (size) => `Bearer${' '.repeat(size)}x, y`,
  ),
  headerCase('authorization', { path: '/version' }, 'a long bearer token', (size) => `Bearer ${'a'.repeat(size)}`),
  headerCase('authorization', { path: '/version' }, 'a token of dots', (size) => `Bearer ${'.'.repeat(size)}`),
  headerCase('authorization', { path: '/version' }, 'a token with a long claim', (size) => `Bearer ${jsonToken(size)}`),
  requestCase('many groups to act as', ['header:impersonate-group'], MOST_HEADERS, (size) => ({
    ...LIST,
    headers: { 'impersonate-user': 'somebody', 'impersonate-group': times(size, (i) => `group-${i}`) },
  })),
  requestCase('many values of one extra to act as', ['header:impersonate-extra-'], MOST_HEADERS, (size) => ({
    ...LIST,
    headers: { 'impersonate-user': 'somebody', 'impersonate-extra-a': times(size, (i) => `value-${i}`) },
  })),
  requestCase('many extras to act as', ['header:impersonate-extra-'], MOST_HEADERS, (size) => ({
    ...LIST,
    headers: { 'impersonate-user': 'u', ...Object.fromEntries(times(size, (i) => [`impersonate-extra-k${i}`, 'v'])) },
  })),
  requestCase('many headers that nobody reads', ['header:*'], 100_000, (size) => ({
    ...VERSION,
    headers: Object.fromEntries(times(size, (i) => [`x-${i}`, 'v'])),
  })),
  requestCase('one header many times', ['header:*'], 100_000, (size) => ({
    ...VERSION,
    headers: { 'x-many': times(size, () => 'v') },
  })),
];

function headerCase(
  name: string,
  request: StallRequest,
  shape: string,
  text: (size: number) => string,
  limit: number = name === 'authorization' ? LONGEST_TOKEN : LONGEST,
) {
  const { method = 'GET', path, as = 'admin' } = request;
  const sent = name === 'impersonate-extra-' ? `${name}key` : name;
  return requestCase(`${method} ${path} (${as}): ${name} as ${shape}`, [`header:${name}`], limit, (size) => ({
    ...request,
    headers: { ...request.headers, [sent]: text(size) },
  }));
}

/** Looks like one of ours, and is signed by nobody. */
function jsonToken(length: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: 'https://kubernetes.default.svc.cluster.local', aud: [repeated((i) => `a${i},`, length / 2)] };
  return `${part({ alg: 'RS256', kid: 'x' })}.${part(claims)}.AAAA`;
}
