/**
 * A store in one file, to keep and to restore from; independent of the engine.
 *
 *   "longwatch snapshot 1\n" | header | record … record | 0 (4 bytes) | sha256 of all before (32 bytes)
 *   header, record: length (4 bytes, big endian) | bytes; a record's bytes: revision (8) sub (4) log record
 *
 * Always true: a file under its final name is whole and on disk. Restoring checks the sum of the whole file before
 * it makes anything, and makes the new store under another name first. It takes a snapshot of etcd as well.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StoreError } from '../../errors.ts';
import type { LeaseId, Revision, SnapshotInfo } from '../../kv.ts';
import { makeDataDir, syncFolder, syncFoldersUpFrom } from '../disk/data-dir.ts';
import { openLmdbEngine } from '../disk/lmdb-engine.ts';
import { writeSealFile } from '../disk/seal-file.ts';
import { DiskFullError, type EngineCommit, type LogEngine, type LogEntry } from '../engine/engine.ts';
import { encodeSeal, newSeal, type Seal, sealAfter } from '../engine/seal.ts';
import { isIntact } from '../state/log-record.ts';
import { FORMAT } from '../state/recovery.ts';
import {
  POSITION_BYTES,
  RECORD_FORMAT,
  readSnapshot,
  SNAPSHOT_MAGIC,
  type SnapshotHeader,
  STEP_BYTES,
  STEP_RECORDS,
} from './snapshot-reader.ts';

export type SnapshotSource = {
  readonly engine: LogEngine;
  readonly revision: Revision;
  readonly compactRevision: Revision;
  /** The engine may be away for a moment. */
  readonly untilReadable: () => Promise<void>;
  readonly signal: AbortSignal | undefined;
};

let draftCount = 0;

export async function writeSnapshot(file: string, source: SnapshotSource): Promise<SnapshotInfo> {
  const { engine, revision, compactRevision, untilReadable, signal } = source;
  if (existsSync(file)) throw existsAlready(file);
  const draft = `${file}.${process.pid}.${draftCount++}.partial`; // two snapshots to one file must not share it
  const handle = await open(draft, 'wx', 0o600).catch((err: unknown) => {
    throw cannotWrite(file, err);
  });
  const hash = createHash('sha256');
  let bytes = 0;
  const write = async (data: Buffer) => {
    signal?.throwIfAborted();
    hash.update(data);
    bytes += data.length;
    await handle.writeFile(data);
  };
  try {
    signal?.throwIfAborted();
    await untilReadable();
    const leases = [...engine.leases()].map(([id, ttl]): [string, number] => [String(id), ttl]);
    const header: SnapshotHeader = { format: RECORD_FORMAT, revision, compactRevision, leases };
    await write(Buffer.concat([SNAPSHOT_MAGIC, framed(Buffer.from(JSON.stringify(header)))]));
    for (let from = 0; ; ) {
      signal?.throwIfAborted();
      await untilReadable();
      const entries = engine.scan(from, STEP_RECORDS, STEP_BYTES).filter((entry) => entry.revision <= revision);
      const last = entries[entries.length - 1];
      if (!last) break;
      const broken = entries.find(({ record }) => !isIntact(record));
      if (broken)
        throw new StoreError('Corrupt', `Cannot write a snapshot: a record of revision ${broken.revision} is damaged`);
      await write(Buffer.concat(entries.map(frameOf)));
      from = last.revision + 1;
    }
    await write(Buffer.alloc(4));
    const sha256 = hash.digest();
    await handle.writeFile(sha256);
    await handle.sync();
    await handle.close();
    await link(draft, file).catch((err: NodeJS.ErrnoException) => {
      throw err.code === 'EEXIST' ? existsAlready(file) : err;
    });
    await rm(draft);
    syncFolder(dirname(file));
    return { revision, bytes: bytes + sha256.length, sha256: sha256.toString('hex') };
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(draft, { force: true });
    throw cannotWrite(file, err);
  }
}

/** What the file system refused; anything else as it is. */
function cannotWrite(file: string, err: unknown): unknown {
  const { code, message } = err as NodeJS.ErrnoException;
  if (!(err instanceof Error) || err instanceof StoreError || !/^E[A-Z]+$/.test(code ?? '')) return err;
  const why = `Cannot write snapshot ${JSON.stringify(file)}: ${message}`;
  return new StoreError(code === 'ENOSPC' ? 'NoSpace' : 'InvalidArgument', why, { cause: err });
}

function existsAlready(file: string): StoreError {
  return new StoreError('InvalidArgument', `Cannot write snapshot ${JSON.stringify(file)}: it exists already`);
}

export type RestoreOptions = {
  /**
   * How far to move the revision ahead of the snapshot's, with all history marked compacted. Clients have seen
   * revisions that the snapshot does not know; ahead of all of them, nobody mistakes the new history for the old.
   */
  readonly bumpRevisionBy?: number;
};

/** Makes a new data directory from a snapshot; it must not hold a store yet. */
export async function restoreEmbeddedStore(
  file: string,
  dataDir: string,
  { bumpRevisionBy = 1_000_000 }: RestoreOptions = {},
): Promise<SnapshotInfo> {
  if (!Number.isSafeInteger(bumpRevisionBy) || bumpRevisionBy < 0)
    throw new StoreError('InvalidArgument', `Cannot move the revision by ${bumpRevisionBy}: it takes a whole number`);
  const handle = await open(file, 'r').catch((err: Error) => {
    throw new StoreError('InvalidArgument', `Cannot restore from ${JSON.stringify(file)}: ${err.message}`, {
      cause: err,
    });
  });
  try {
    const { header, bytes, sha256, records } = await readSnapshot(file, handle);
    const target = join(dataDir, 'data.mdb');
    if (existsSync(dataDir) && readdirSync(dataDir).length > 0)
      throw new StoreError('InvalidArgument', `Cannot restore to ${JSON.stringify(dataDir)}: it is not empty`);
    const draft = `${target}.partial`;
    makeDataDir(dataDir);
    const engine = openLmdbEngine({ file: draft, isDurable: true });
    let seal: Seal;
    try {
      seal = await fill(engine, records(), header, bumpRevisionBy).finally(() => engine.close());
    } catch (err) {
      await Promise.all([draft, `${draft}-lock`].map((one) => rm(one, { force: true })));
      throw err instanceof DiskFullError
        ? new StoreError('NoSpace', `Cannot restore to ${JSON.stringify(dataDir)}: the disk is full`, { cause: err })
        : err;
    }
    await rename(draft, target);
    await rm(`${draft}-lock`, { force: true });
    syncFoldersUpFrom(dataDir);
    writeSealFile(join(dataDir, 'SEAL'), true, seal);
    return { revision: header.revision + bumpRevisionBy, bytes: bytes + 32, sha256 };
  } finally {
    await handle.close();
  }
}

async function fill(
  engine: LogEngine,
  records: AsyncIterable<readonly LogEntry[]>,
  header: SnapshotHeader,
  bumpBy: number,
): Promise<Seal> {
  let seal = newSeal();
  const commit = async (part: Partial<EngineCommit>) => {
    const whole = { append: [], remove: [], meta: new Map(), leases: new Map(), ...part };
    seal = sealAfter(seal, whole, new Map());
    await engine.commit({ ...whole, seal: encodeSeal(seal) });
  };
  const compactRevision = bumpBy > 0 ? header.revision + bumpBy : header.compactRevision;
  const leases = new Map<LeaseId, number>(header.leases.map(([id, ttl]) => [BigInt(id), ttl]));
  const meta = new Map([
    ['format', FORMAT],
    // Scheduled but not finished: opening the store removes what the compaction leaves behind.
    ['compact.scheduled', compactRevision],
    ['compact.finished', 0],
  ] as const);
  await commit({ meta, leases });
  for await (const append of records) {
    const damaged = append.find(({ record }) => !isIntact(record));
    if (damaged)
      throw new StoreError('Corrupt', `Cannot restore: the record of revision ${damaged.revision} is damaged`);
    if (append.length > 0) await commit({ append });
  }
  return seal;
}

function frameOf({ revision, sub, record }: LogEntry): Buffer {
  const position = Buffer.allocUnsafe(POSITION_BYTES);
  position.writeBigUInt64BE(BigInt(revision), 0);
  position.writeUInt32BE(sub, 8);
  return framed(position, record);
}

function framed(...parts: Buffer[]): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(
    parts.reduce((sum, part) => sum + part.length, 0),
    0,
  );
  return Buffer.concat([length, ...parts]);
}
