import { expect, it } from 'vitest';
import { isApiError, isExpired } from '../errors.ts';
import { pathWithQuery, warningsIn } from './http-text.ts';
import { refusalOf } from './refusal.ts';
import { headersText } from './request-log.ts';

const status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: { continue: 'token' },
  status: 'Failure',
  message: 'gone',
  reason: 'Expired',
  code: 410,
};

it('a Status is carried whole', () => {
  const error = refusalOf(410, {}, JSON.stringify(status), 'GET /x');
  expect(error).toMatchObject({ message: 'gone', code: 410, reason: 'Expired', request: 'GET /x', status });
  expect(isExpired(error)).toBe(true);
});

it.each<[code: number, text: string, reason: string, message: string]>([
  [404, '404 page not found\n', 'NotFound', '404 page not found (GET /x: 404)'],
  [
    429,
    'Too many requests, please try again later.',
    'TooManyRequests',
    'Too many requests, please try again later. (GET /x: 429)',
  ],
  [502, '', 'Unknown', 'the server gave no reason (GET /x: 502)'],
  [410, '{"kind":"Pod"}', 'Gone', '{"kind":"Pod"} (GET /x: 410)'],
])('an answer %i without a Status becomes one', (code, text, reason, message) => {
  const error = refusalOf(code, { 'retry-after': '3' }, text, 'GET /x');
  expect(error).toMatchObject({ code, reason, message, retryAfterMs: 3000 });
  expect(isApiError(error, reason)).toBe(true);
});

it('Retry-After fills in what the Status does not say', () => {
  const text = (details?: object) => JSON.stringify({ ...status, code: 429, details });
  expect(refusalOf(429, { 'retry-after': '3' }, text(), 'GET /').retryAfterMs).toBe(3000);
  expect(refusalOf(429, { 'retry-after': '3' }, text({ retryAfterSeconds: 1 }), 'GET /').retryAfterMs).toBe(1000);
  expect(refusalOf(429, { 'retry-after': 'Fri, 31 Dec' }, text(), 'GET /').retryAfterMs).toBeUndefined();
});

it('a query leaves out what is undefined and repeats lists', () => {
  expect(pathWithQuery('/a', { x: undefined, y: 'a b&c', z: true, l: ['1', '2'] })).toBe('/a?y=a+b%26c&z=true&l=1&l=2');
  expect(pathWithQuery('/a', {})).toBe('/a');
});

it('warnings are read from one header or several', () => {
  expect(warningsIn('299 - "one \\"two\\"", 299 - "three"')).toEqual(['one "two"', 'three']);
  expect(warningsIn(['299 - "a"', '299 - "b"'])).toEqual(['a', 'b']);
  expect(warningsIn(undefined)).toEqual([]);
});

it('headers are shown without credentials', () => {
  expect(headersText({ Authorization: 'Bearer x', accept: 'a', none: undefined })).toBe(
    'Authorization: <redacted>, accept: a',
  );
});
