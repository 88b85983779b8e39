/**
 * `GET /longwatch/snapshot`: the whole store in one file, while everything goes on.
 *
 * Always true: only who may do everything gets it, since everything is in it, Secrets too: a rule for all paths is not
 * enough. A snapshot lies in a folder of its own that only this user can read, and is gone when its request is. One is
 * made at a time, and few are kept; others are told to come again. The file ends with its own checksum: an answer that
 * breaks off is no snapshot, and who reads it notices.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { methodNotAllowed, timeout, tooManyRequests } from '../../api/index.ts';
import { type Authorizer, forbiddenBy } from '../auth/authorizer.ts';
import type { ByteStream, RequestContext } from '../request/request-context.ts';

const SNAPSHOT_PATH = '/longwatch/snapshot';

const PIECE_BYTES = 64 * 1024;
const MAX_AT_ONCE = 4;
const RETRY_SECONDS = 10;
const STALL_MS = 60_000;

/** What cluster-admin may, and nobody who may not do everything. */
const EVERYTHING = {
  kind: 'resource',
  verb: '*',
  group: '*',
  version: '*',
  resource: '*',
  subresource: '',
  namespace: '',
  name: '',
} as const;

/** The store, as far as it is asked here. */
type SnapshotSource = {
  status(options: { readonly signal: AbortSignal }): Promise<{ readonly sizeInUseBytes: number }>;
  snapshot(file: string, options: { readonly signal: AbortSignal }): Promise<unknown>;
};

type Parts = {
  readonly store: SnapshotSource;
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  /** How long a client may take nothing before it is cut off: a minute. */
  readonly stallMs?: number;
};

/** False: the path is another. */
export function snapshotHandler({
  store,
  authorizer,
  stallMs = STALL_MS,
}: Parts): (context: RequestContext) => Promise<boolean> {
  let open = 0;
  let making: Promise<unknown> = Promise.resolve();
  const make = (file: string, signal: AbortSignal) => {
    const made = making.then(() => {
      signal.throwIfAborted();
      return store.snapshot(file, { signal });
    });
    making = made.catch(() => {});
    return made;
  };
  return async (context) => {
    const { path, method, user, signal } = context;
    if (path !== SNAPSHOT_PATH) return false;
    if (method !== 'GET') throw methodNotAllowed();
    const { allowed, reason } = await authorizer.authorize(user, EVERYTHING);
    if (!allowed) throw forbiddenBy(user, EVERYTHING, reason);
    if (open >= MAX_AT_ONCE) throw tooManyRequests('other snapshots are being read', RETRY_SECONDS);
    open++;
    let folder: string | undefined;
    try {
      const { sizeInUseBytes } = await store.status({ signal });
      folder = await mkdtemp(join(tmpdir(), 'longwatch-snapshot-'));
      // It begins before the file is there: making one may take longer than a request may.
      const stream = context.stream('application/octet-stream', 200, {
        'Longwatch-Size-In-Use': String(sizeInUseBytes),
      });
      context.initialised();
      const file = join(folder, 'snapshot');
      await make(file, signal);
      for await (const piece of createReadStream(file, { highWaterMark: PIECE_BYTES, signal }))
        await written(stream, piece as Buffer, stallMs);
      stream.end('complete');
    } finally {
      open--;
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
    return true;
  };
}

/** Until the client has room for more, or is gone. */
async function written(stream: ByteStream, bytes: Buffer, stallMs: number): Promise<void> {
  if (stream.write(bytes)) return;
  let stalled: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    stream.onDrain(resolve);
    stream.onClose(() => resolve());
    stalled = setTimeout(() => reject(timeout('nothing of the snapshot was taken for too long')), stallMs);
  }).finally(() => clearTimeout(stalled));
}
