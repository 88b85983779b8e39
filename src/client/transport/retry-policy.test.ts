import { expect, it } from 'vitest';
import { ApiError, TransportError } from '../errors.ts';
import { retryDelay } from './retry-policy.ts';

const limits = { maxTries: 3, maxWaitMs: 60_000 };

function refused(code: number, retryAfterSeconds?: number): ApiError {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, ...details }, 'GET /');
}
const lost = new TransportError('headers', 'lost');
const late = new TransportError('headers', 'late', { isTimeout: true });

it.each<[claim: string, method: string, error: unknown, tries: number, want: number | undefined]>([
  ['waits as long as asked and a little longer', 'POST', refused(429, 2), 1, 2250],
  ['also for 503', 'DELETE', refused(503, 1), 1, 1125],
  ['not longer than allowed', 'GET', refused(429, 61), 1, undefined],
  ['not too often', 'GET', refused(429, 1), 3, undefined],
  ['reads without being asked', 'GET', refused(503), 1, 250],
  ['writes only when asked', 'POST', refused(503), 1, undefined],
  ['reads that went wrong inside, when asked', 'GET', refused(500, 1), 1, 1125],
  ['reads that were too late, when asked', 'GET', refused(504, 1), 1, 1125],
  ['not what went wrong inside without being asked', 'GET', refused(500), 1, undefined],
  ['not where nobody knows what was done', 'POST', refused(500, 1), 1, undefined],
  ['not at once what went wrong inside', 'GET', refused(500, 0), 1, undefined],
  ['not a refusal', 'GET', refused(403, 1), 1, undefined],
  ['reads whose connection broke', 'GET', lost, 1, 0],
  ['but only once', 'GET', lost, 2, undefined],
  ['never writes whose connection broke', 'PATCH', lost, 1, undefined],
  ['never what took too long', 'GET', late, 1, undefined],
  ['never without a connection', 'GET', new TransportError('connect', 'refused'), 1, undefined],
  ['never half an answer', 'GET', new TransportError('body', 'cut'), 1, undefined],
  ['never a bug', 'GET', new TypeError('bug'), 1, undefined],
])('retryDelay() repeats %s', (_claim, method, error, tries, want) =>
  expect(retryDelay({ method, error, tries }, limits, 0.5)).toBe(want),
);
