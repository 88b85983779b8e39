import { expect, it } from 'vitest';
import { ApiError, TransportError } from '../../../client/index.ts';
import { type Cause, judge } from './finding.ts';

const FAILURE = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'no' } as const;

it.each<[cause: Cause, err: unknown]>([
  ['connect-timeout', new TransportError('connect', 'nobody', { isTimeout: true })],
  ['certificate-expired', new TransportError('connect', 'over', { code: 'CERT_HAS_EXPIRED' })],
  ['refused', new ApiError({ ...FAILURE, code: 418, reason: 'Teapot' }, 'GET /')],
  ['unknown', new RangeError('a bug')],
])('%s is told from what a request met', (cause, err) =>
  expect(judge(err)).toMatchObject({ cause, remedy: expect.stringMatching(/\w/) }),
);
