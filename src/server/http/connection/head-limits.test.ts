import { expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { parseBearerHeader } from '../../auth/bearer-header.ts';
import { mediaTypeOf } from '../../codec/decode-body.ts';
import { matchesEtag } from '../../discovery/discovery.ts';
import { chooseForm } from '../../discovery/discovery-form.ts';
import { negotiate, statusMediaType } from '../../encodings/negotiation.ts';
import { acceptsGzip, standardHeaders, warningValues } from '../response/answer-headers.ts';
import { hasTooManyHeaders, limitHead } from './head-limits.ts';
import { http1Fault } from './http1-faults.ts';

it.each([
  ['a short one', { accept: 'a'.repeat(8192) }, true, ['accept']],
  ['a long one that is read', { accept: 'a'.repeat(8193) }, false, undefined],
  ['a token', { authorization: 'a'.repeat(32_768) }, true, ['authorization']],
  ['a long token', { authorization: 'a'.repeat(32_769) }, false, undefined],
  ['one whose name says who asks', { 'impersonate-extra-x': 'a'.repeat(8193) }, false, undefined],
  ['a long one that nobody reads', { 'x-any': 'a'.repeat(900_000), accept: 'a' }, true, ['accept']],
  ['a list of them', { 'set-cookie': Array(9000).fill('a') as string[] }, true, []],
  ['a path of HTTP/2', { ':path': 'a'.repeat(900_000) }, true, [':path']],
])('limitHead(): %s', (_what, headers: NodeJS.Dict<string | string[]>, isTaken, left) => {
  expect(limitHead(headers)).toBe(isTaken);
  if (left) expect(Object.keys(headers)).toEqual(left);
});

it('hasTooManyHeaders() says so before one could have been dropped', () =>
  expect([998, 1000, 1001].map((count) => hasTooManyHeaders(Array(count * 2).fill('a')))).toEqual([false, true, true]));

it('warnings are cut, and told only up to a limit', () => {
  const texts = (count: number, length: number) =>
    new Set(Array.from({ length: count }, (_, i) => `${i}`.padEnd(length, 'x')));
  expect(warningValues(texts(2, 2000)).map(({ length }) => length)).toEqual([2008, 2008]);
  expect(warningValues(texts(3, 2000)).map(({ length }) => length)).toEqual([264, 264, 264]);
  expect(warningValues(texts(100_000, 100))).toHaveLength(41);
});

const builtIn = { isCustom: false, verbs: ['get'] };
const head = (host: string) => ({ httpVersionMajor: 1, headers: { host }, rawHeaders: ['Host', host] }) as never;

/** Whoever reads a header, on what the limit lets through many times over. */
it.each<[what: string, read: (value: string) => unknown, unit: string]>([
  ['Accept of clauses', (accept) => negotiate({ accept }, builtIn), '*/*,'],
  ['Accept of parameters', (accept) => negotiate({ accept: `*/*${accept}` }, builtIn), ';a=b'],
  ['Accept of weights', (accept) => statusMediaType({ accept }), '*/*;as=x;q=0.3,'],
  ['Accept of unknown types', (accept) => statusMediaType({ accept }), 'a/b,'],
  ['Accept of discovery', (accept) => chooseForm(accept, true), '*/*;as=x,'],
  ['Accept of blanks', (accept) => chooseForm(`a${accept}b`, true), ' '],
  ['Accept-Encoding', (value) => acceptsGzip(value), 'gzi,'],
  ['If-None-Match', (value) => matchesEtag({ headers: { 'if-none-match': value } }, 'x'), 'W/"a",'],
  ['Content-Type', (value) => mediaTypeOf(value), ' ;'],
  ['Authorization of blanks', (value) => parseBearerHeader(`Bearer x${value}y`), ' '],
  ['Audit-Id', (value) => standardHeaders(`${value} `, '', { flowSchemaUid: '', priorityLevelUid: '' }), 'a'],
  ['Host', (value) => http1Fault(head(`${value}/`)), 'a'],
])('%s takes time in proportion to its length', (what, read, unit) =>
  expectLinear(what, {
    make: (size) => unit.repeat(size / unit.length),
    run: (value) => {
      try {
        read(value);
      } catch (err) {
        expect(err).toMatchObject({ code: 406 });
      }
    },
    from: 8192,
    limit: 128 * 1024,
  }),
);
