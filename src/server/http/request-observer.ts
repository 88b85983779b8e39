/** Who counts requests. Called on the hot path: an observer does no more than add numbers, and never throws. */
import type { Exchange } from './exchange.ts';
import type { RequestKind } from './in-flight.ts';

/** How a request ended. */
type RequestOutcome = {
  /** 0: the client left before there was an answer. */
  readonly status: number;
  readonly sentBytes: number;
  readonly seconds: number;
};

export interface RequestObserver {
  /** Has passed every gate; `kind` is undefined for those that take no seat. */
  begin(exchange: Exchange, kind: RequestKind | undefined): void;
  /** Once for every request, let in or not. */
  end(exchange: Exchange, kind: RequestKind | undefined, outcome: RequestOutcome, wasLetIn: boolean): void;
  handshakeFailed(): void;
}
