/** Who counts requests. Called on the hot path: an observer does no more than add numbers, and never throws. */

import type { RequestContext } from './request-context.ts';
import type { RequestKind } from './request-kind.ts';
import type { StreamEnd } from './stream-end.ts';

/** How a request ended. */
type RequestOutcome = {
  /** 0: the client left before there was an answer. */
  readonly status: number;
  readonly sentBytes: number;
  readonly seconds: number;
  /** The server ended it before its time: it had no seat left for it, or it took too long. */
  readonly isTerminated?: boolean;
  /** Of a live stream: why it ended. */
  readonly streamEnd?: StreamEnd | undefined;
};

export interface RequestObserver {
  /** Whoever asks may do it. */
  begin(context: RequestContext): void;
  /** Its answer is a live stream, and has begun. */
  streamOpened(context: RequestContext): void;
  /** Once for every request, let in or not. */
  end(context: RequestContext, outcome: RequestOutcome, wasLetIn: boolean): void;
  /** A seat was taken (1) or given back (-1). */
  seat(kind: RequestKind, change: 1 | -1): void;
  handshakeFailed(): void;
}
