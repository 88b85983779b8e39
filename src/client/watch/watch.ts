/**
 * One watch request as a stream of events: what the server sends, in its order, until the server ends it.
 *
 * The request is made when the first event is asked for, and ends when the loop is left, by any door. Bytes are read
 * only as events are asked for: a reader that is slow pauses the socket, and in the end the server. A clean end ends
 * the loop; a refusal, before the stream or within it, throws ApiError; everything else throws TransportError, with the
 * phase `headers`, `body`, `idle` (the stream is dead, or its bookmarks are off) or `total` (the server did not end it
 * in time).
 */
import { CallbackError, tellSafely } from '../../api/index.ts';
import { TransportError } from '../errors.ts';
import { parseTrusted } from '../lazy/managed-fields.ts';
import { acceptOf, type Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import { type SelectOptions, selectQuery } from '../resources/options.ts';
import { collectionPath } from '../resources/resource-path.ts';
import { BusySlices } from '../slices.ts';
import type { Transport } from '../transport/transport.ts';
import type { Headers, StreamAnswer } from '../transport/transport-options.ts';
import { LineSplitter } from './line-splitter.ts';
import { type DecodeLine, parseEvent, type WatchEvent } from './watch-event.ts';
import { WatchReport } from './watch-report.ts';

export type WatchOptions = SelectOptions & {
  /** That of the context. */
  readonly namespace?: string | undefined;
  /** Events after this version. Without one, or with `'0'`, the watch begins with an ADDED for everything there is. */
  readonly resourceVersion?: string | undefined;
  /** true */
  readonly allowBookmarks?: boolean | undefined;
  /** Begins with an ADDED for everything there is, and a bookmark that marks the end of it. */
  readonly sendInitialEvents?: boolean | undefined;
  /** After this the server ends the stream: without it after 30 to 60 minutes. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for headers: 30 s. */
  readonly headersTimeoutMs?: number | undefined;
  /**
   * A stream that is silent for longer is dead: 75 s with bookmarks, of which servers send one a minute; no limit
   * without them. 0 is no limit.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Of one event: 64 MiB. */
  readonly maxEventBytes?: number | undefined;
  /** Called when the server has accepted the watch, before the first event. */
  readonly onOpen?: ((headers: Headers) => void) | undefined;
  /** Sent along. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

const HEADERS_MS = 30_000;
/** With bookmarks. */
export const IDLE_MS = 75_000;
/** How long after `timeoutSeconds` a server that did not end the stream is given up. */
const OVERTIME_MS = 15_000;
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

export async function* watch<T extends AnyObject>(
  transport: Transport,
  resource: Resource<T>,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent<T>, void, void> {
  const onOpen = options.onOpen && guarded('onOpen', options.onOpen, `the watch of ${resource.plural}`);
  for await (const events of watchBatches(transport, resource, { ...options, onOpen, decode: parseTrusted }))
    for (const event of events) {
      yield event;
      options.signal?.throwIfAborted(); // events that are already here are not delivered after an abort
    }
}

/** A callback of the user's: that it fails is a process warning, and changes nothing else. */
export function guarded<A extends unknown[]>(
  callback: string,
  tell: (...about: A) => unknown,
  whose: string,
): (...about: A) => void {
  let hasFailed = false;
  return (...about) =>
    tellSafely(
      () => tell(...about),
      (error) => {
        if (hasFailed) return; // once says it
        hasFailed = true;
        process.emitWarning(Object.assign(new CallbackError(callback, '', whose, error), { name: 'WatchWarning' }));
      },
    );
}

/**
 * The same, with all events that came in one piece at once: a turn of the loop for each costs more than a small event.
 */
export async function* watchBatches<T extends AnyObject>(
  transport: Transport,
  resource: Resource<T>,
  options: WatchOptions & { readonly decode?: DecodeLine | undefined } = {},
): AsyncGenerator<readonly WatchEvent<T>[], void, void> {
  const { allowBookmarks = true, sendInitialEvents, timeoutSeconds, signal } = options;
  const namespace = options.allNamespaces ? undefined : (options.namespace ?? transport.access.namespace);
  const path = collectionPath(resource, namespace);
  const accept = acceptOf(resource, false);
  const report = new WatchReport(transport, resource, signal);
  let stream: StreamAnswer | undefined;
  try {
    stream = await transport.stream('GET', path, {
      query: {
        watch: true,
        ...selectQuery(options),
        resourceVersion: options.resourceVersion,
        allowWatchBookmarks: allowBookmarks || undefined,
        ...(sendInitialEvents !== undefined && { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' }),
        timeoutSeconds,
      },
      timeouts: {
        headersMs: options.headersTimeoutMs ?? HEADERS_MS,
        idleMs: options.idleTimeoutMs ?? (allowBookmarks ? IDLE_MS : 0),
        totalMs: timeoutSeconds ? timeoutSeconds * 1000 + OVERTIME_MS : 0,
      },
      ...(accept !== undefined && { accept }),
      ...(options.headers && { headers: options.headers }),
      ...(signal && { signal }),
    });
    report.opened();
    options.onOpen?.(stream.headers);
    const request = `watch of ${path}`;
    const splitter = new LineSplitter(options.maxEventBytes ?? MAX_EVENT_BYTES);
    const slices = new BusySlices();
    for await (const chunk of stream.chunks) {
      slices.begin();
      report.received(chunk.length);
      const events: WatchEvent<T>[] = [];
      let failure: { readonly error: unknown } | undefined;
      try {
        splitter.take(chunk, (line, encoding) =>
          events.push(parseEvent(resource, line, encoding, request, options.decode)),
        );
      } catch (error) {
        failure = { error }; // thrown after what came before it
      }
      for (const { type } of events) report.event(type);
      if (events.length > 0) yield events;
      signal?.throwIfAborted();
      if (failure) throw failure.error;
      slices.end();
      if (slices.isOver) await slices.pause();
    }
    if (splitter.rest > 0)
      throw new TransportError(
        'body',
        `Cannot finish ${request}: it ended inside an event, after ${splitter.rest} bytes`,
      );
    report.finished();
  } catch (error) {
    report.failed(error);
    throw error;
  } finally {
    stream?.close();
    report.ended();
  }
}
