import { expect, it } from 'vitest';
import { ApiError, ConfigError, TransportError } from '../errors.ts';
import {
  type Fact,
  NO_INITIAL_END,
  type Policy,
  type ReflectorState,
  STATE_TOO_OLD,
  transition,
} from './reflector-state.ts';

const policy: Policy = { minMs: 800, maxMs: 30_000, healthyMs: 30_000, listBy: 'stream', random: 0.5 };

function refused(code: number, reason: string, details: object = {}): ApiError {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
  return new ApiError({ ...status, code, reason, details }, 'watch');
}
const tooLarge = refused(504, 'Timeout', { causes: [{ reason: 'ResourceVersionTooLarge', message: '' }] });
const reset = new TransportError('body', 'reset');
const tooOld = new TransportError('body', 'too old', { code: STATE_TOO_OLD });
const silence = new TransportError('idle', 'silence', { isTimeout: true });
const noAnswer = new TransportError('headers', 'no answer', { isTimeout: true });
const closed = new TransportError('connect', 'closed', { code: 'TRANSPORT_CLOSED' });

const listing = (by: 'stream' | 'pages' = 'stream', failures = 0): ReflectorState => ({
  kind: 'listing',
  by,
  failures,
});
const watching = (over: object = {}): ReflectorState => ({
  kind: 'watching',
  version: '7',
  isOpen: true,
  isRotating: false,
  empty: 0,
  failures: 0,
  ...over,
});
const ended = (error: unknown, livedMs = 60_000, events = 1, wasOpen = true): Fact => ({
  ...{ kind: 'ended', error, livedMs, events, wasOpen, isCatchingUp: false, isSilent: false },
});
const waiting = (next: object, over: object = {}): object => ({
  kind: 'waiting',
  delayMs: 400,
  isRefusal: false,
  next,
  ...over,
});

it.each<[claim: string, state: ReflectorState, fact: Fact, want: object]>([
  [
    'a stream that has the whole state goes on as a watch',
    listing(),
    { kind: 'listed', version: '9' },
    watching({ version: '9' }),
  ],
  [
    'after pages a watch is opened',
    listing('pages'),
    { kind: 'listed', version: '9' },
    watching({ version: '9', isOpen: false }),
  ],
  ['an event moves the version', watching({ empty: 3 }), { kind: 'seen', version: '8' }, watching({ version: '8' })],
  ['a watch opens', watching({ isOpen: false }), { kind: 'opened' }, watching()],
  [
    'a successor that began at a version which is lost says nothing about ours',
    watching({ failures: 2 }),
    {
      kind: 'ended',
      error: refused(410, 'Expired'),
      livedMs: 5,
      events: 0,
      wasOpen: true,
      isCatchingUp: true,
      isSilent: false,
    },
    watching({ isOpen: false, failures: 2 }),
  ],
  ['a refused stream is listed in pages', listing(), ended(refused(422, 'Invalid')), listing('pages')],
  [
    'a stream without end mark is listed in pages',
    listing(),
    ended(new TransportError('total', '', { code: NO_INITIAL_END })),
    listing('pages'),
  ],
  [
    'refused pages are a refusal',
    listing('pages'),
    ended(refused(422, 'Invalid')),
    { kind: 'waiting', isRefusal: true },
  ],
  ['a broken list is tried again', listing(), ended(reset), waiting(listing('stream', 1))],
  ['a list that ends early is tried again', listing(), ended(undefined), waiting(listing('stream', 1))],
  [
    'forbidden waits for someone',
    listing(),
    ended(refused(403, 'Forbidden')),
    waiting(listing('stream', 1), { isRefusal: true }),
  ],
  ['no credentials wait for someone', listing(), ended(new ConfigError('x')), { kind: 'waiting', isRefusal: true }],
  ['pauses grow', listing('stream', 3), ended(reset), waiting(listing('stream', 4), { delayMs: 3200 })],
  ['pauses are limited', listing('stream', 30), ended(reset), waiting(listing('stream', 31), { delayMs: 15_000 })],
  [
    'a wish of the server counts, and a little is added to it',
    listing(),
    ended(refused(429, 'TooManyRequests', { retryAfterSeconds: 9 })),
    { delayMs: 10_125 },
  ],
  ['a clean end is taken up at once', watching(), ended(undefined), watching({ isOpen: false })],
  [
    'a reset is taken up at its version',
    watching(),
    ended(reset, 5),
    waiting(watching({ isOpen: false, failures: 1 })),
  ],
  [
    'a 500 is taken up at its version',
    watching(),
    ended(refused(500, 'InternalError'), 5),
    waiting(watching({ isOpen: false, failures: 1 })),
  ],
  [
    'good health forgets failures',
    watching({ failures: 6 }),
    ended(reset),
    waiting(watching({ isOpen: false, failures: 1 })),
  ],
  ['410 lists again at once', watching(), ended(refused(410, 'Expired'), 5), listing('stream', 1)],
  [
    '410 again and again has pauses',
    watching({ failures: 1 }),
    ended(refused(410, 'Gone'), 5),
    waiting(listing('stream', 2), { delayMs: 800 }),
  ],
  ['a version too large lists again', watching(), ended(tooLarge), listing('stream', 1)],
  [
    'empty streams count',
    watching(),
    ended(undefined, 5, 0),
    waiting(watching({ isOpen: false, empty: 1, failures: 1 })),
  ],
  ['the fifth empty stream lists again', watching({ empty: 4 }), ended(undefined, 5, 0), listing('stream', 1)],
  ['silence after events is taken up', watching(), ended(silence), { kind: 'waiting', next: { version: '7' } }],
  ...[undefined, reset].map((error): [string, ReflectorState, Fact, object] => [
    `silence over many streams is checked, after ${error ?? 'a clean end'}`,
    watching(),
    { kind: 'ended', error, livedMs: 5_000, events: 0, wasOpen: true, isCatchingUp: false, isSilent: true },
    { kind: 'checking', version: '7' },
  ]),
  [
    'one that was not accepted is not silent',
    watching(),
    { kind: 'ended', error: reset, livedMs: 5_000, events: 0, wasOpen: false, isCatchingUp: false, isSilent: true },
    { kind: 'waiting', next: { kind: 'watching' } },
  ],
  ['silence from the start is checked', watching(), ended(silence, 75_000, 0), { kind: 'checking', version: '7' }],
  [
    'forbidden keeps the version',
    watching(),
    ended(refused(403, 'Forbidden')),
    { isRefusal: true, next: { version: '7' } },
  ],
  [
    'a kind that is gone lists anew',
    watching(),
    ended(refused(404, 'NotFound')),
    { isRefusal: true, next: { kind: 'listing' } },
  ],
  [
    'an event too long lists in pages',
    watching(),
    ended(new TransportError('body', '', { code: 'LINE_TOO_LONG' })),
    { next: { kind: 'listing', by: 'pages' } },
  ],
  [
    'a server behind us lists again',
    { kind: 'checking', version: '7', failures: 0 },
    { kind: 'checked', version: '6' },
    listing(),
  ],
  [
    'a server that is not behind is watched on',
    { kind: 'checking', version: '7', failures: 0 },
    { kind: 'checked', version: '7' },
    waiting(watching({ isOpen: false, failures: 1 })),
  ],
  [
    'a failed check watches on',
    { kind: 'checking', version: '7', failures: 0 },
    ended(reset),
    { next: { version: '7' } },
  ],
  [
    'a minimum that gets no answer is checked',
    { kind: 'listing', by: 'stream', failures: 1, broken: 1, minResourceVersion: '7' },
    ended(noAnswer, 0, 0, false),
    { kind: 'checking', version: '7', failures: 1, listing: { by: 'stream', broken: 1, minResourceVersion: '7' } },
  ],
  [
    'without a minimum there is nothing to check',
    listing('pages'),
    ended(noAnswer, 0, 0, false),
    waiting({ ...listing('pages'), failures: 1 }),
  ],
  [
    'a server that is not behind the minimum is asked for it again',
    {
      ...{ kind: 'checking', version: '7', failures: 1, error: noAnswer },
      listing: { kind: 'listing', by: 'pages', failures: 1, minResourceVersion: '7' },
    },
    { kind: 'checked', version: '9' },
    { kind: 'waiting', error: noAnswer, next: { kind: 'listing', by: 'pages', failures: 2, minResourceVersion: '7' } },
  ],
  [
    'a failed check asks for the minimum again',
    {
      kind: 'checking',
      version: '7',
      failures: 1,
      listing: { kind: 'listing', by: 'pages', failures: 1, minResourceVersion: '7' },
    },
    ended(reset),
    { kind: 'waiting', next: { kind: 'listing', by: 'pages', failures: 2, minResourceVersion: '7' } },
  ],
  [
    '410 asks for nothing older',
    watching(),
    ended(refused(410, 'Expired'), 5),
    { kind: 'listing', minResourceVersion: '7' },
  ],
  [
    'a state below the minimum is asked for again',
    { kind: 'listing', by: 'pages', failures: 1, minResourceVersion: '7' },
    ended(tooOld),
    { kind: 'waiting', next: { kind: 'listing', minResourceVersion: '7', failures: 2 } },
  ],
  [
    'a stream that broke counts',
    { kind: 'listing', by: 'stream', failures: 1, broken: 1, minResourceVersion: '7' },
    ended(reset),
    { kind: 'waiting', next: { kind: 'listing', by: 'stream', broken: 2, minResourceVersion: '7' } },
  ],
  [
    'a connection that failed does not',
    { kind: 'listing', by: 'stream', failures: 1, broken: 2 },
    ended(reset, 5, 0, false),
    { kind: 'waiting', next: { by: 'stream', broken: 2 } },
  ],
  [
    'the third stream that breaks is followed by pages',
    { kind: 'listing', by: 'stream', failures: 2, broken: 2, minResourceVersion: '7' },
    ended(undefined),
    { kind: 'listing', by: 'pages', failures: 2, minResourceVersion: '7' },
  ],
  ['a stream near its timeout gets a successor', watching(), { kind: 'near-timeout' }, watching({ isRotating: true })],
  [
    'versions that are no numbers are not rotated',
    watching({ version: 'x' }),
    { kind: 'near-timeout' },
    watching({ version: 'x' }),
  ],
  ['what lists is not rotated', listing(), { kind: 'near-timeout' }, listing()],
  ['the successor is open', watching({ isRotating: true }), { kind: 'rotated' }, watching()],
  ['without a successor it goes on', watching({ isRotating: true }), { kind: 'rotation-failed' }, watching()],
  [
    'a stream that ends before its successor is open waits for it',
    watching({ isRotating: true }),
    ended(reset),
    watching({ isRotating: true, isOpen: false }),
  ],
  ['a bug is not waited over', watching({ isRotating: true }), ended(new TypeError('bug')), { kind: 'stopped' }],
  [
    'and is open with it',
    watching({ isRotating: true, isOpen: false }),
    { kind: 'rotated' },
    watching({ isOpen: true, isRotating: false }),
  ],
  [
    'a resync that is required fetches anew',
    watching(),
    { kind: 'resync-required' },
    { ...listing(), minResourceVersion: '7' },
  ],
  ['of what is late the whole is fetched', watching(), { kind: 'late' }, { ...listing(), minResourceVersion: '7' }],
  [
    'what is late because its stream has ended goes on where it was',
    watching({ isOpen: false }),
    { kind: 'late' },
    watching({ isOpen: false }),
  ],
  ['what is being fetched needs no resync', listing('pages', 2), { kind: 'resync-required' }, listing('pages', 2)],
  ['a bug stops', watching(), ended(new TypeError('bug')), { kind: 'stopped' }],
  ['a closed transport stops a watch', watching(), ended(closed), { kind: 'stopped' }],
  ['a closed transport stops a list', listing(), ended(closed), { kind: 'stopped' }],
  [
    'a bug stops a check',
    { kind: 'checking', version: '7', failures: 0 },
    ended(new TypeError('bug')),
    { kind: 'stopped' },
  ],
])('%s', (_claim, state, fact, want) => expect(transition(state, fact, policy)).toMatchObject(want));

it('after the pause comes what the pause was for', () => {
  const state = transition(watching(), ended(reset, 5), policy);
  expect(transition(state, { kind: 'backoff-elapsed' }, policy)).toEqual(watching({ isOpen: false, failures: 1 }));
});

it('a server that was set back, or always gives an older state, is believed: then there is no minimum', () => {
  const state: ReflectorState = { kind: 'listing', by: 'stream', failures: 1, minResourceVersion: '7' };
  expect(transition(state, ended(tooLarge), policy)).toEqual(listing('stream', 1));
  const often = transition({ ...state, failures: 5 }, ended(tooOld), policy);
  expect(often).toMatchObject({ kind: 'waiting' });
  expect(transition(often, { kind: 'backoff-elapsed' }, policy)).toEqual(listing('stream', 6));
});
