/**
 * A watch that goes on where the last process was: from the version of a checkpoint, or with the whole state first.
 *
 * An event counts as handled when the next one is asked for; then its version is saved. So what was being handled when
 * the process died comes again. The objects of an initial state come in no order of versions: nothing is saved before
 * it is complete. When the server has lost the version it throws `Expired`: what was deleted meanwhile can only be found
 * by comparing, so the caller forgets what it has, calls `checkpoint.clear()` and begins anew. An informer with a
 * checkpoint does all that by itself.
 */
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { type WatchResumingOptions, watchResuming } from '../watch/watch-resuming.ts';
import type { VersionCheckpoint } from './version-checkpoint.ts';

export type WatchFromOptions = Omit<WatchResumingOptions, 'resourceVersion' | 'sendInitialEvents'>;

export async function* watchFrom<T extends AnyObject>(
  client: { readonly transport: Transport },
  resource: Resource<T>,
  checkpoint: Pick<VersionCheckpoint, 'load' | 'save'>,
  options: WatchFromOptions = {},
): AsyncGenerator<WatchEvent<T>, void, void> {
  const version = await checkpoint.load();
  const start = version === undefined ? { sendInitialEvents: true as const } : { resourceVersion: version };
  let isInitial = version === undefined;
  for await (const event of watchResuming(client.transport, resource, { ...options, ...start })) {
    yield event;
    if (event.type === 'BOOKMARK' && event.isInitialEventsEnd) isInitial = false;
    if (!isInitial) checkpoint.save(event.object.metadata.resourceVersion);
  }
}
