/**
 * etcd's Maintenance/Snapshot: the store as a database of etcd, with its checksum last, as etcd sends it. What
 * `etcdctl snapshot save` makes of it can be restored by etcd's tools, and by ours.
 *
 * Always true: the store goes on meanwhile; a snapshot lies in a folder of its own that only this user can read, and is
 * gone when its call is. One is made at a time, and few are kept: the others are refused.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogEntry } from '../../embedded/engine/engine.ts';
import { openSnapshotFile } from '../../embedded/snapshot/snapshot-reader.ts';
import { decodeRecord } from '../../embedded/state/log-record.ts';
import type { EtcdRecord } from '../../etcd-snapshot/etcd-snapshot.ts';
import { writeEtcdSnapshot } from '../../etcd-snapshot/write-etcd-snapshot.ts';
import type { Store } from '../../kv.ts';
import type { GrpcStream } from '../grpc-stream.ts';
import { refusals } from '../messages/front-error.ts';
import { response } from '../messages/front-responses.ts';
import { ETCD_VERSION } from './maintenance-service.ts';

const PIECE_BYTES = 32 * 1024;
const MAX_AT_ONCE = 4;

export class SnapshotService {
  readonly #store: Store;
  #calls = 0;
  #making: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  async serve(stream: GrpcStream): Promise<void> {
    await stream.message();
    if (this.#calls >= MAX_AT_ONCE) throw refusals.tooManyRequests();
    this.#calls++;
    let folder: string | undefined;
    try {
      folder = await mkdtemp(join(tmpdir(), 'longwatch-snapshot-'));
      const made = this.#making.then(() => this.#make(folder!, stream.signal));
      this.#making = made.catch(() => {});
      await this.#send(await made, stream);
    } finally {
      this.#calls--;
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
  }

  async #make(folder: string, signal: AbortSignal): Promise<{ file: string; bytes: number }> {
    signal.throwIfAborted();
    const ours = join(folder, 'snapshot');
    await this.#store.snapshot(ours, { signal });
    const file = join(folder, 'db');
    await using snapshot = await openSnapshotFile(ours);
    await using handle = await open(file, 'wx', 0o600);
    const bytes = await writeEtcdSnapshot(handle, { ...snapshot.header, records: () => decoded(snapshot.records()) });
    await rm(ours);
    return { file, bytes };
  }

  async #send({ file, bytes }: { file: string; bytes: number }, stream: GrpcStream): Promise<void> {
    const revision = await this.#store.revision({ signal: stream.signal });
    const hash = createHash('sha256');
    let left = bytes;
    const send = (blob: Uint8Array) =>
      stream.sendInTime(() => [
        response(revision, (w) => w.int(2, left).bytes(3, blob).string(4, ETCD_VERSION), blob.length + 64),
      ]);
    for await (const chunk of createReadStream(file, { highWaterMark: PIECE_BYTES })) {
      stream.signal.throwIfAborted();
      hash.update(chunk as Buffer);
      left -= (chunk as Buffer).length;
      await send(chunk as Buffer);
    }
    await send(hash.digest());
  }
}

async function* decoded(records: AsyncIterable<readonly LogEntry[]>): AsyncGenerator<EtcdRecord[], void, void> {
  for await (const some of records)
    yield some.map(({ revision, sub, record }) => ({ revision, sub, kv: decodeRecord(record) }));
}
