/** The bounds of the HTTP server, with kube-apiserver's values where it has them. */

import type { InFlightLimits } from '../flow-control/in-flight.ts';
import type { BudgetLimits } from './body/byte-budget.ts';
import type { PaceRule } from './body/pace.ts';
import type { ListenerLimits } from './connection/listener.ts';
import type { StreamLimits } from './response/live-stream.ts';

export type HttpLimits = InFlightLimits &
  ListenerLimits & {
    readonly maxBodyBytes: number;
    /** For everything but watches; 504 after it. */
    readonly requestTimeoutMs: number;
    readonly stream: StreamLimits;
    /** What the bodies of all requests together hold. */
    readonly bodies: BudgetLimits;
    /** What all answers together hold that are not read yet. */
    readonly answers: BudgetLimits;
    /** How fast a body must come. */
    readonly bodyPace: PaceRule;
    /** How fast an answer must be read, in slices of at most a megabyte. */
    readonly answerPace: PaceRule;
    /** How long `close` waits for requests under way. */
    readonly graceMs: number;
  };

/** The defaults with some of them replaced. The time to receive a request follows the time to answer it. */
export function httpLimits(given: Partial<HttpLimits> = {}): HttpLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  return { ...limits, receiveTimeoutMs: given.receiveTimeoutMs ?? limits.requestTimeoutMs + 5000 };
}

const DEFAULT_LIMITS: HttpLimits = {
  maxReadOnly: 400,
  maxMutating: 200,
  maxHeaderBytes: 1024 * 1024,
  headersTimeoutMs: 32_000,
  receiveTimeoutMs: 65_000, // a little more than a request may take: the 504 comes first
  idleTimeoutMs: 90_000,
  handshakeTimeoutMs: 10_000,
  maxStreamsPerConnection: 100,
  maxBodyBytes: 3 * 1024 * 1024,
  requestTimeoutMs: 60_000,
  bodies: { totalBytes: 128 * 1024 * 1024 },
  answers: { totalBytes: 256 * 1024 * 1024, owedBytes: 16 * 1024 * 1024 },
  bodyPace: { bytes: 16 * 1024, stretchMs: 10_000 },
  answerPace: { bytes: 1, stretchMs: 30_000 },
  stream: {
    slowBytes: 256 * 1024,
    tightSlowBytes: 16 * 1024,
    totalSlowBytes: 64 * 1024 * 1024,
    cutOffBytes: 16 * 1024 * 1024,
    lingerMs: 30_000,
  },
  graceMs: 8_000,
};
