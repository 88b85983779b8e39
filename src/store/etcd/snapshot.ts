/**
 * A member's snapshot, streamed to a file.
 *
 * Always true: the file is new, complete, on the disk (file and folder flushed) and has the checksum etcd sent, or it
 * is not there. It is in etcd's own format, checksum at its end, so `etcdctl snapshot restore` takes it. At most
 * `aheadBytes` wait for the disk; then the stream is paused.
 *
 * It fails with InvalidArgument if the file cannot be made, NoSpace if the disk is full, Corrupt if the checksum differs.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../errors.ts';
import type { SnapshotInfo } from '../kv.ts';
import { Call } from './grpc/call.ts';
import type { Connection } from './grpc/connection.ts';
import { onAbort } from './grpc/on-abort.ts';
import { decodeSnapshotPiece, emptyRequest } from './messages/messages-admin.ts';

const method = '/etcdserverpb.Maintenance/Snapshot';
const aheadBytes = 4 * 1024 * 1024;
const checksumBytes = 32;

export async function saveSnapshot(
  connect: () => Promise<Connection>,
  file: string,
  signal: AbortSignal | undefined,
): Promise<SnapshotInfo> {
  signal?.throwIfAborted();
  const handle = await open(file, 'wx', 0o600).catch((err: NodeJS.ErrnoException) => {
    throw err.code === 'EEXIST' ? fileError('InvalidArgument', file, 'the file exists already', err) : wrap(err, file);
  });
  try {
    const info = await receive(await connect(), handle, file, signal);
    await handle.sync();
    await handle.close();
    await syncFolder(dirname(file));
    return info;
  } catch (err) {
    await handle.close().catch(() => {});
    await unlink(file).catch(() => {});
    throw isSystemError(err) ? wrap(err, file) : err;
  }
}

function receive(
  connection: Connection,
  handle: FileHandle,
  file: string,
  signal: AbortSignal | undefined,
): Promise<SnapshotInfo> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const hash = createHash('sha256');
    let bytes = 0;
    let unwritten = 0;
    let tail: Uint8Array = emptyRequest; // the checksum so far as we know; only the end shows that it is the last
    let writing: Promise<unknown> = Promise.resolve();

    const settle = (finish: () => void) => {
      unlisten();
      // Nobody may close the file under a write, so the writes come to rest first.
      writing.then(finish, reject);
    };
    const stop = () => {
      call.cancel();
      settle(() => reject(signal?.reason));
    };
    const call = new Call(
      connection,
      method,
      {},
      {
        onMessage: (message) => {
          const piece = decodeSnapshotPiece(message);
          hash.update(tail);
          tail = piece;
          bytes += piece.length;
          unwritten += piece.length;
          if (unwritten > aheadBytes) call.pause();
          writing = writing
            .then(() => handle.writeFile(piece))
            .then(() => {
              unwritten -= piece.length;
              if (unwritten <= aheadBytes / 2) call.resume();
            });
          writing.catch((err: unknown) => {
            call.cancel();
            unlisten();
            reject(err);
          });
        },
        onEnd: (error) =>
          settle(() => {
            if (error) return reject(error);
            const sha256 = hash.digest('hex');
            const told = Buffer.from(tail).toString('hex');
            if (tail.length === checksumBytes && told === sha256)
              return resolve({ revision: undefined, bytes, sha256 });
            reject(
              fileError('Corrupt', file, `etcd sent the checksum ${JSON.stringify(told)}, its data has ${sha256}`),
            );
          }),
      },
    );
    const unlisten = onAbort(signal, stop);
    call.sendLast(emptyRequest);
  });
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isSystemError(err: unknown): err is NodeJS.ErrnoException {
  return err instanceof Error && 'syscall' in err;
}

function wrap(err: NodeJS.ErrnoException, file: string): StoreError {
  return fileError(err.code === 'ENOSPC' ? 'NoSpace' : 'InvalidArgument', file, err.message, err);
}

function fileError(
  code: 'InvalidArgument' | 'NoSpace' | 'Corrupt',
  file: string,
  found: string,
  cause?: unknown,
): StoreError {
  return new StoreError(code, `Cannot write a snapshot to ${JSON.stringify(file)}: ${found}`, { cause });
}
