/**
 * What a client tells of its work, as it happens: the one source that metrics and logs are made from.
 *
 *     using watching = client.transport.observers.add({ onReconnect: (resource) => console.log(resource.plural) });
 *
 * Everything is called in the middle of the work it tells of, so it must be quick and must not wait. What it throws is
 * a process warning, the first time, and harms no other observer.
 */
import type { TransportPhase } from '../errors.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { WatchEventType } from '../objects/objects.ts';
import type { Freshness, InformerMetrics } from './informer-metrics.ts';

export type ClientObserver = {
  /** A request has its answer, or has failed. A repetition is one of its own. */
  onRequest?(sample: RequestSample): void;
  /** A request that failed is sent again after a pause. */
  onRetry?(sample: RetrySample): void;
  /** The server has accepted a watch. */
  onWatchOpen?(resource: Resource): void;
  onWatchEvent?(resource: Resource, type: WatchEventType): void;
  /** Bytes of a watch, as they come from the connection. */
  onWatchBytes?(resource: Resource, bytes: number): void;
  onWatchEnd?(end: WatchEnd): void;
  /** A watch is open again where the one before it ended, without a list in between. */
  onReconnect?(resource: Resource): void;
  /** The whole state was fetched, or could not be. */
  onList?(list: ListSample): void;
  /** A handler of an informer is through with one event. */
  onHandled?(handled: HandledSample): void;
  /** An informer has begun, has changed its state, or has ended. */
  onInformerState?(informer: ObservedInformer): void;
};

/** One request on the wire; a repetition is one of its own. */
export type RequestSample = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** GET, LIST, WATCH, POST, PUT, PATCH, DELETE or DELETECOLLECTION. */
  readonly verb: string;
  /** `pods`, `deployments.apps`; empty if it is about none. */
  readonly resource: string;
  readonly isStream: boolean;
  /** Absent if there was no answer. */
  readonly code?: number;
  /** Where it failed without an answer; `aborted` by the caller. */
  readonly failed?: TransportPhase | 'aborted';
  /** Until the body was read; of a stream, until it began. */
  readonly durationMs: number;
  /** Of the body; absent for a stream, and where there is none. */
  readonly responseBytes?: number;
};

export type RetrySample = Pick<RequestSample, 'method' | 'path' | 'verb' | 'resource' | 'code'> & {
  readonly error: unknown;
  readonly delayMs: number;
};

export type WatchEnd = {
  readonly resource: Resource;
  /** Who ended it: the server, cleanly; whoever read it; or a failure, which is `error` then. */
  readonly by: 'server' | 'reader' | 'failure';
  /** Undefined if the server or the reader ended it. */
  readonly error: unknown;
  /** Since the request was made. */
  readonly durationMs: number;
};

export type ListSample = {
  readonly resource: Resource;
  /** A watch that begins with the whole state, or a list in pages. */
  readonly by: 'stream' | 'pages';
  readonly durationMs: number;
  /** Absent if it failed. */
  readonly objects?: number;
  readonly error?: unknown;
};

export type HandledSample = {
  readonly resource: Resource;
  /** Empty if its owner gave it no name. */
  readonly handler: string;
  readonly durationMs: number;
  readonly isError: boolean;
  /** Events that were joined with others since the handler's last: it did not see these states. */
  readonly conflated: number;
};

/** An informer as those see it who watch over it. */
export type ObservedInformer = {
  readonly resource: Resource;
  readonly isSynced: boolean;
  readonly freshness: Freshness;
  readonly metrics: InformerMetrics;
};
