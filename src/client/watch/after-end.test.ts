import { expect, it } from 'vitest';
import { ApiError, TransportError } from '../errors.ts';
import { pods } from '../objects/generated/core-v1.ts';
import { afterEnd, type Ended } from './after-end.ts';
import { Backoff } from './backoff.ts';
import { parseEvent, type WatchEvent } from './watch-event.ts';

function refused(code: number, reason: string, retryAfterSeconds?: number): ApiError {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
  return new ApiError({ ...status, code, reason, ...details }, 'watch');
}

it.each<[claim: string, ended: Partial<Ended>, want: 'at once' | 'stop' | number]>([
  ['a clean end', { livedMs: 300_000 }, 'at once'],
  ['a clean end soon after an event', { livedMs: 10, events: 1 }, 0],
  ['a short empty stream', { livedMs: 10 }, 0],
  ['the fifth of those', { livedMs: 10, emptyBefore: 4 }, 'stop'],
  ['a reset', { error: new TransportError('body', 'reset') }, 0],
  ['a dead stream', { error: new TransportError('idle', 'silence', { isTimeout: true }) }, 0],
  ['no connection', { error: new TransportError('connect', 'refused') }, 0],
  [
    'a transport that was closed',
    { error: new TransportError('connect', 'closed', { code: 'TRANSPORT_CLOSED' }) },
    'stop',
  ],
  ['an event without end', { error: new TransportError('body', 'long', { code: 'LINE_TOO_LONG' }) }, 'stop'],
  ['500', { error: refused(500, 'InternalError') }, 0],
  ['503 with a wish', { error: refused(503, 'ServiceUnavailable', 5) }, 5000],
  ['429 with a wish', { error: refused(429, 'TooManyRequests', 2) }, 2000],
  ['504, version too large', { error: refused(504, 'Timeout', 1) }, 1000],
  ['410', { error: refused(410, 'Expired') }, 'stop'],
  ['403', { error: refused(403, 'Forbidden') }, 'stop'],
  ['404', { error: refused(404, 'NotFound') }, 'stop'],
  ['a bug', { error: new TypeError('bug') }, 'stop'],
])('after %s a watch goes on or stops', (_claim, ended, want) => {
  const step = afterEnd({ error: undefined, livedMs: 60_000, events: 0, emptyBefore: 0, ...ended });
  if (step.kind === 'stop') expect(want).toBe('stop');
  else expect(step.isFailure ? step.atLeastMs : 'at once').toBe(want);
});

it('a version that is silently refused counts as expired', () => {
  const step = afterEnd({ error: undefined, livedMs: 5, events: 0, emptyBefore: 4 });
  expect(step).toMatchObject({ kind: 'stop', error: { name: 'ApiError', code: 410, reason: 'Expired' } });
});

it('Backoff doubles up to its limit, with full jitter', () => {
  const highest = new Backoff({ random: () => 1 });
  expect(Array.from({ length: 8 }, () => highest.next())).toEqual([800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
  highest.reset();
  expect(highest.next()).toBe(800);
  expect(new Backoff({ random: () => 0 }).next()).toBe(0);
});

it.each<[claim: string, line: string, complaint: object]>([
  ['no JSON', '{"type":', { name: 'TransportError', phase: 'body' }],
  ['no type', '{"object":{}}', { name: 'TransportError', phase: 'body' }],
  ['no object', '{"type":"ADDED"}', { name: 'TransportError', phase: 'body' }],
  ['null', 'null', { name: 'TransportError', phase: 'body' }],
  [
    'a refusal',
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}',
    { name: 'ApiError', code: 410, reason: 'Expired', message: 'old' },
  ],
])('an event with %s throws', (_claim, line, complaint) => {
  expect(() => parse(line)).toThrow(expect.objectContaining(complaint));
});

it('a bookmark says whether it ends the initial state', () => {
  const bookmark = (annotations?: object) =>
    parse(JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '5', annotations } } }));
  expect(bookmark()).toMatchObject({ isInitialEventsEnd: false });
  expect(bookmark({ 'k8s.io/initial-events-end': 'true' })).toMatchObject({ isInitialEventsEnd: true });
});

function parse(line: string): WatchEvent {
  return parseEvent(pods, Buffer.from(line), 'utf8', 'watch');
}
