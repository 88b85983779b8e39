/**
 * A watch that outlives its connections: whatever breaks, it goes on after the last version it has seen, so that no event
 * is lost and none is repeated. It never lists.
 *
 * It ends by the caller's signal, by leaving the loop, or by throwing what waiting does not mend: `Expired` (list again
 * and start anew), a refusal such as `Forbidden`, a bug. Pauses between failures grow from 0.8 s to 30 s with full jitter
 * and fall back after 30 s in good health; a clean end of a stream that lived is no failure and has no pause.
 *
 * A stream that begins with the initial state can be taken up only after the bookmark that ends it: the objects before
 * it come in no order of versions. If it breaks before that, the error is thrown, and the caller starts anew.
 */
import { TransportError } from '../errors.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import { notBefore } from '../transport/retry-policy.ts';
import type { Transport } from '../transport/transport.ts';
import { afterEnd, isShortAndEmpty } from './after-end.ts';
import { Backoff, type BackoffOptions } from './backoff.ts';
import { guarded, type WatchOptions, watch } from './watch.ts';
import type { WatchEvent } from './watch-event.ts';

export type WatchResumingOptions = Omit<WatchOptions, 'allowBookmarks' | 'resourceVersion' | 'sendInitialEvents'> &
  StartPoint & {
    readonly backoff?: BackoffOptions | undefined;
    /** How long a stream must live to be called healthy: 30 s. */
    readonly healthyMs?: number | undefined;
    readonly onInterruption?: ((interruption: Interruption) => void) | undefined;
  };

/** After a known version, or with the initial state first. */
export type StartPoint =
  | { readonly resourceVersion: string; readonly sendInitialEvents?: false | undefined }
  | { readonly sendInitialEvents: true; readonly resourceVersion?: string | undefined };

/** A stream has ended, and the next is about to be opened. */
export type Interruption = {
  /** Undefined for a clean end. */
  readonly error: unknown;
  readonly resourceVersion: string;
  readonly livedMs: number;
  readonly delayMs: number;
  /** In a row. */
  readonly failures: number;
};

const HEALTHY_MS = 30_000;
/** Seconds; spread, so that many watches that began together do not end together. */
const LIFETIME = { min: 300, spread: 300 };

export async function* watchResuming<T extends AnyObject>(
  transport: Transport,
  resource: Resource<T>,
  options: WatchResumingOptions,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const { clock, random } = transport;
  const { signal, healthyMs = HEALTHY_MS } = options;
  const whose = `the watch of ${resource.plural}`;
  const onOpen = options.onOpen && guarded('onOpen', options.onOpen, whose);
  const onInterruption = options.onInterruption && guarded('onInterruption', options.onInterruption, whose);
  const backoff = new Backoff({ ...options.backoff, random: options.backoff?.random ?? random });
  let version = options.resourceVersion;
  let isInitial = options.sendInitialEvents === true;
  if (!isInitial && (!version || version === '0'))
    throw new TypeError('Cannot resume a watch without a start: name a resourceVersion, or set sendInitialEvents');
  let empty = 0; // short empty streams in a row
  let isAgain = false;
  for (;;) {
    let openedAt: number | undefined;
    let events = 0;
    let error: unknown;
    try {
      const stream = watch(transport, resource, {
        ...options,
        ...(version !== undefined && { resourceVersion: version }),
        sendInitialEvents: isInitial || undefined,
        allowBookmarks: true,
        timeoutSeconds: options.timeoutSeconds ?? Math.floor(LIFETIME.min + random() * LIFETIME.spread),
        onOpen: (headers) => {
          openedAt = clock.now();
          if (isAgain) transport.observers.tell('onReconnect', resource);
          isAgain = true;
          onOpen?.(headers);
        },
      } as WatchOptions);
      for await (const event of stream) {
        events++;
        if (event.type === 'BOOKMARK' && event.isInitialEventsEnd) isInitial = false;
        // Before it is delivered: whoever has it has its version.
        if (!isInitial) version = event.object.metadata.resourceVersion;
        yield event;
      }
    } catch (err) {
      error = err;
    }
    signal?.throwIfAborted();
    if (isInitial) throw error ?? initialStateMissing();
    const livedMs = openedAt === undefined ? 0 : clock.now() - openedAt;
    if (livedMs >= healthyMs) backoff.reset();
    const step = afterEnd({ error, livedMs, events, emptyBefore: empty });
    if (step.kind === 'stop') throw step.error;
    empty = error === undefined && isShortAndEmpty(livedMs, events) ? empty + 1 : 0;
    const delayMs = step.isFailure ? Math.max(notBefore(step.atLeastMs, random()), backoff.next()) : 0;
    onInterruption?.({ error, resourceVersion: version ?? '', livedMs, delayMs, failures: backoff.failures });
    if (delayMs > 0) await clock.sleep(delayMs, signal);
  }
}

function initialStateMissing(): TransportError {
  return new TransportError('body', 'Cannot use the watch: it ended before its initial state was complete');
}
