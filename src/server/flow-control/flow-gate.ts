/**
 * What the HTTP server asks of whoever decides which requests may run now: plain counters (in-flight.ts) or flow control.
 *
 * A ticket is of one request. Always true: it may be left at any time, by any door and more than once; what it held is
 * given back once.
 */
import type { Attributes } from '../auth/authorizer.ts';
import type { CpuAccount } from '../event-loop/run-queue.ts';
import type { RequestKind } from '../request/request-kind.ts';
import type { UserInfo } from '../request/user-info.ts';

export type GatedRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: UserInfo;
};

/** The classes of priority a request was put in; clients print them, nobody branches on them. */
export type FlowUids = { readonly flowSchemaUid: string; readonly priorityLevelUid: string };

/** Told of every request that begins to run (1) and that does not any more (-1). */
export type SeatObserver = (kind: RequestKind, change: 1 | -1) => void;

export interface FlowTicket {
  /** Who is charged for the CPU that its work takes. */
  readonly account: CpuAccount;
  /** For the headers of the answer, if there are any. */
  readonly uids: FlowUids | undefined;
  /** How long those who are rejected should stay away. */
  readonly retryAfterSeconds: number;
  /** Whether it may run; when it has to wait, a promise. False: it is to be rejected. */
  enter(): boolean | Promise<boolean>;
  /** Whoever asked has gone: it need not wait any more. What runs, runs on. */
  giveUp(): void;
  /** It does not run any more, if it did. */
  leave(): void;
  /** The answer is over: what counts as a watch until its end does not any more. */
  close(): void;
}

export interface FlowGate {
  /** `waitSeconds`: how long it may wait. Undefined: it needs no leave. */
  ticketFor(request: GatedRequest, attributes: Attributes, waitSeconds: number): FlowTicket | undefined;
}
