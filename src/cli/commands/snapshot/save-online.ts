/**
 * A snapshot of a running server of ours, over its own API: the certificates, token or plugin of a kubeconfig are all it
 * needs, and the right to do everything.
 *
 * Always true: a file under its name is whole (its checksum was read again from the disk) and for its owner only, or it
 * is not there. A server that breaks off, or that is no server of ours, is told in a sentence.
 */
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isApiError, isTransportError, type KubeClient } from '../../../client/index.ts';
import { openSnapshotFile } from '../../../store/embedded/snapshot/snapshot-reader.ts';
import type { SnapshotInfo } from '../../../store/index.ts';
import { connectTo } from '../../cluster/cluster-flags.ts';
import type { Io } from '../../terminal/io.ts';
import { Progress } from '../../terminal/progress.ts';
import { VerbError } from '../../terminal/run-verb.ts';
import { showBytes } from '../../terminal/table.ts';

const PATH = '/longwatch/snapshot';
/** The server says nothing while it makes the file. */
const SILENCE_MS = 10 * 60_000;

export type OnlineFlags = { readonly kubeconfig?: string; readonly context?: string; readonly v?: number };

export async function saveOnline(file: string, flags: OnlineFlags, io: Io): Promise<SnapshotInfo> {
  if (existsSync(file)) throw existsAlready(file);
  await using client = await connectTo(flags);
  const draft = `${file}.${process.pid}.partial`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    using progress = new Progress(io, 'saving');
    await receive(client, io, async (piece, bytes, share) => {
      await handle.writeFile(piece);
      progress.show(share, showBytes(bytes));
    });
    await handle.sync();
    await handle.close();
    const info = await checked(draft);
    await link(draft, file).catch((err: NodeJS.ErrnoException) => {
      throw err.code === 'EEXIST' ? existsAlready(file) : err;
    });
    await syncFolder(dirname(file));
    return info;
  } finally {
    await handle.close().catch(() => {});
    await rm(draft, { force: true });
  }
}

async function receive(
  client: KubeClient,
  { signal }: Io,
  take: (piece: Buffer, bytes: number, share: number | undefined) => Promise<void>,
): Promise<void> {
  const { host } = client.transport.access.server;
  try {
    const timeouts = { idleMs: SILENCE_MS };
    const answer = await client.transport.stream('GET', PATH, { accept: '*/*', timeouts, signal });
    const expected = Number(answer.headers['longwatch-size-in-use']);
    let bytes = 0;
    for await (const piece of answer.chunks) {
      bytes += piece.length;
      await take(piece, bytes, expected > 0 ? Math.min(0.99, bytes / expected) : undefined);
    }
  } catch (err) {
    if (isApiError(err) && err.code === 404)
      throw new VerbError(
        `Cannot save: ${host} serves no snapshots of its store, which only \`longwatch serve\` does (unless with --introspection=false)`,
        'Of any other cluster save its etcd: --endpoints URL with --cacert, --cert and --key.',
        { cause: err },
      );
    if (isApiError(err, 'Forbidden'))
      throw new VerbError(
        `Cannot save: ${err.message}`,
        'Everything is in a snapshot, so only who may do everything gets one: use the admin.kubeconfig of the server, or bind cluster-admin.',
        { cause: err },
      );
    if (isTransportError(err))
      throw new VerbError(`Cannot save from ${host}: ${err.message}`, 'Nothing was kept: try again.', { cause: err });
    throw err;
  }
}

/** By what lies on the disk. */
async function checked(draft: string): Promise<SnapshotInfo> {
  await using snapshot = await openSnapshotFile(draft).catch((err: unknown) => {
    throw new VerbError(
      `Cannot save: what came is no whole snapshot (${(err as Error).message})`,
      'The server broke off, it may be stopping: try again.',
      { cause: err },
    );
  });
  const { header, bytes, sha256 } = snapshot;
  return { revision: header.revision, bytes: bytes + 32, sha256 };
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

function existsAlready(file: string): VerbError {
  return new VerbError(`Cannot write snapshot ${JSON.stringify(file)}: it exists already`, 'Give another name.');
}
