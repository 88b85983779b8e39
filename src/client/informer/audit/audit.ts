/**
 * Holds one source against the server: whether what the store has is what a list of metadata says.
 *
 * Nobody has to stop for it. What changes between the beginning of the list and the moment the store has caught up with
 * it is left out; all else must agree, key by key, in uid and version. A store that does not catch up in time may have
 * a stream that is dead, though it is open: another one is opened, but it is not called wrong for that.
 */
import { type Clock, isBehind } from '../../../api/index.ts';
import { metadataOf } from '../../objects/define-resource.ts';
import { keyOf } from '../../objects/object-key.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { ReflectorOptions } from '../../reflector/reflector-options.ts';
import { ResourceClient } from '../../resources/resource-client.ts';
import { Slices } from '../../slices.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Notifier } from '../handling/notifier.ts';
import type { Source } from '../source.ts';

export type AuditReport = {
  /** How many objects were held against the server. */
  readonly objects: number;
  /** Those that are missing, too many, or of another version. */
  readonly divergent: readonly string[];
  /** The store did not come as far as the list within a minute and a half. */
  readonly isLate: boolean;
};

type AuditContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly selection: Omit<ReflectorOptions, 'namespace'>;
  readonly objects: (scope: string) => readonly T[];
  /** Calls with every key that changes, until it is disposed. */
  readonly follow: (onChange: (key: string) => void) => Disposable;
  /** Notifies of every change of a version. */
  readonly notifier: Notifier;
};

const PAGE_ITEMS = 500;
/** On a quiet resource the store comes forward by bookmarks, of which there is one a minute. */
const PATIENCE_MS = 90_000;

export async function auditSource<T extends AnyObject>(
  source: Source<T>,
  resource: Parameters<typeof metadataOf>[0],
  { transport, selection, objects, follow, notifier }: AuditContext<T>,
  signal: AbortSignal,
): Promise<AuditReport> {
  const { scope } = source;
  const { labelSelector, fieldSelector, shardSelector } = selection;
  const options = {
    ...(scope === '*' ? { allNamespaces: true } : { namespace: scope }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(shardSelector !== undefined && { shardSelector }),
  };
  const touched = new Set<string>();
  using _ = follow((key) => touched.add(key));
  const listed = new Map<string, string>();
  let version = '';
  const pages = new ResourceClient(transport, metadataOf(resource)).listPages({
    ...options,
    ...{ limit: PAGE_ITEMS, onExpired: 'throw', signal },
  });
  for await (const { items, metadata } of pages) {
    for (const item of items) listed.set(keyOf(item), identityOf(item));
    version = metadata.resourceVersion;
  }
  const isLate = !(await inTime(transport.clock, signal, async (limit) => {
    while (source.version === undefined || isBehind(source.version, version)) await notifier.wait(limit);
  }));
  return { ...(await compared(listed, objects(scope), touched)), isLate };
}

/** In slices: what changes meanwhile is touched, and left out as any other. */
async function compared<T extends AnyObject>(
  listed: ReadonlyMap<string, string>,
  objects: readonly T[],
  touched: ReadonlySet<string>,
): Promise<Pick<AuditReport, 'objects' | 'divergent'>> {
  const slices = new Slices();
  const held = new Set<string>();
  const divergent: string[] = [];
  for (const object of objects) {
    if (slices.isOver) await slices.pause();
    const key = keyOf(object);
    held.add(key);
    if (!touched.has(key) && listed.get(key) !== identityOf(object)) divergent.push(key);
  }
  let missing = 0;
  for (const key of listed.keys()) {
    if (slices.isOver) await slices.pause();
    if (held.has(key)) continue;
    missing++;
    if (!touched.has(key)) divergent.push(key);
  }
  return { objects: held.size + missing, divergent };
}

function identityOf({ metadata }: AnyObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

/** False if it takes too long. */
async function inTime(
  clock: Clock,
  signal: AbortSignal,
  work: (limit: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const limit = new AbortController();
  const onAbort = () => limit.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const over = new AbortController();
  clock.sleep(PATIENCE_MS, over.signal).then(
    () => limit.abort(),
    () => {}, // it was in time
  );
  try {
    await work(limit.signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.signal.aborted) throw error;
    return false;
  } finally {
    over.abort();
    signal.removeEventListener('abort', onAbort);
  }
}
