/** Who counts what flow control does. Called on the hot path: adds numbers, and never throws. */
import type { FlowRequest } from './fair-queuing/flow-request.ts';
import type { QueueSetObserver, RejectReason } from './fair-queuing/queue-set.ts';

export type DropReason = RejectReason | 'time-out';

export interface FlowObserver {
  /** For what happens in the queues of a level. */
  ofLevel(levelName: string): QueueSetObserver;
  levelGone(levelName: string): void;
  /** So many watches may hear of a write. */
  watchersFound(levelName: string, schemaName: string, count: number): void;
  /** A request was rejected. */
  dropped(levelName: string, request: FlowRequest, reason: DropReason): void;
}
