/** The bounds of the front, with the reference server's values where it has them. */
import type { InFlightLimits } from './in-flight.ts';
import type { ListenerLimits } from './listener.ts';
import type { StreamLimits } from './live-stream.ts';

export type FrontLimits = InFlightLimits &
  ListenerLimits & {
    readonly maxBodyBytes: number;
    /** For everything but watches; 504 after it. */
    readonly requestTimeoutMs: number;
    readonly stream: StreamLimits;
    /** How long `close` waits for requests under way. */
    readonly graceMs: number;
  };

/** The defaults with some of them replaced. The time to receive a request follows the time to answer it. */
export function frontLimits(given: Partial<FrontLimits> = {}): FrontLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  return { ...limits, receiveTimeoutMs: given.receiveTimeoutMs ?? limits.requestTimeoutMs + 5000 };
}

const DEFAULT_LIMITS: FrontLimits = {
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
  stream: { slowBytes: 256 * 1024, cutOffBytes: 16 * 1024 * 1024, lingerMs: 30_000 },
  graceMs: 8_000,
};
