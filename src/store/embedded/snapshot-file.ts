/**
 * A store in one file, to keep and to restore from; independent of the engine.
 *
 *   "longwatch snapshot 1\n" | header | record … record | 0 (4 bytes) | sha256 of all before (32 bytes)
 *   header, record: length (4 bytes, big endian) | bytes; a record's bytes: revision (8) sub (4) log record
 *
 * Always true: a file under its final name is whole and on disk. Restoring checks the sum of the whole file before
 * it makes anything, and makes the new store under another name first.
 */
import { createHash, type Hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StoreError } from '../errors.ts';
import type { LeaseId, Revision, SnapshotInfo } from '../kv.ts';
import { makeDataDir, syncFolder, syncFoldersUpFrom } from './disk/data-dir.ts';
import { writeSealFile } from './disk/seal-file.ts';
import { DiskFullError, type EngineCommit, type LogEngine, type LogEntry } from './engine.ts';
import { openLmdbEngine } from './lmdb-engine.ts';
import { isIntact } from './log-record.ts';
import { FORMAT } from './recovery.ts';
import { encodeSeal, newSeal, type Seal, sealAfter } from './seal.ts';

const MAGIC = Buffer.from('longwatch snapshot 1\n');
/** Of the records in it, which have stayed what they were. */
const RECORD_FORMAT = 1;
const STEP_RECORDS = 1000;
const STEP_BYTES = 1024 * 1024;
const POSITION_BYTES = 12;

type Header = {
  readonly format: number;
  readonly revision: Revision;
  readonly compactRevision: Revision;
  readonly leases: [string, number][];
};

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
    const header: Header = { format: RECORD_FORMAT, revision, compactRevision, leases };
    await write(Buffer.concat([MAGIC, framed(Buffer.from(JSON.stringify(header)))]));
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
    const { bytes, sha256 } = await checkSum(file, handle);
    const frames = framesOf(handle, bytes);
    const header = JSON.parse((await frames.next()).value!.toString()) as Header;
    if (header.format !== RECORD_FORMAT)
      throw new StoreError(
        'UnsupportedFormat',
        `Cannot restore from ${JSON.stringify(file)}: it has format ${header.format}, this version reads ${RECORD_FORMAT}; ` +
          'use the version that wrote it',
      );
    const target = join(dataDir, 'data.mdb');
    if (existsSync(dataDir) && readdirSync(dataDir).length > 0)
      throw new StoreError('InvalidArgument', `Cannot restore to ${JSON.stringify(dataDir)}: it is not empty`);
    const draft = `${target}.partial`;
    makeDataDir(dataDir);
    const engine = openLmdbEngine({ file: draft, isDurable: true });
    let seal: Seal;
    try {
      seal = await fill(engine, frames, header, bumpRevisionBy).finally(() => engine.close());
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

async function fill(engine: LogEngine, frames: AsyncGenerator<Buffer>, header: Header, bumpBy: number): Promise<Seal> {
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
  let append: LogEntry[] = [];
  for await (const frame of frames) {
    const record = frame.subarray(POSITION_BYTES);
    const entry = { revision: Number(frame.readBigUInt64BE(0)), sub: frame.readUInt32BE(8), record };
    if (!isIntact(record))
      throw new StoreError('Corrupt', `Cannot restore: the record of revision ${entry.revision} is damaged`);
    append.push(entry);
    if (append.length < STEP_RECORDS) continue;
    await commit({ append });
    append = [];
  }
  if (append.length > 0) await commit({ append });
  return seal;
}

async function checkSum(file: string, handle: FileHandle): Promise<{ bytes: number; sha256: string }> {
  const corrupt = (what: string) => new StoreError('Corrupt', `Cannot restore from ${JSON.stringify(file)}: ${what}`);
  const { size } = await handle.stat();
  const bytes = size - 32;
  if (bytes < MAGIC.length + 8) throw corrupt('it is too short to be a snapshot');
  const hash: Hash = createHash('sha256');
  for (let at = 0; at < bytes; ) {
    const chunk = await readAt(handle, at, Math.min(STEP_BYTES, bytes - at));
    if (at === 0 && !chunk.subarray(0, MAGIC.length).equals(MAGIC)) throw corrupt('it is not a snapshot of ours');
    hash.update(chunk);
    at += chunk.length;
  }
  const sha256 = hash.digest();
  if (!sha256.equals(await readAt(handle, bytes, 32)))
    throw corrupt('its checksum does not match, it is damaged or cut short');
  return { bytes, sha256: sha256.toString('hex') };
}

/** The header, then every record; the file's sum has been checked, so its lengths can be believed. */
async function* framesOf(handle: FileHandle, end: number): AsyncGenerator<Buffer> {
  let at = MAGIC.length;
  let buffer: Buffer = Buffer.alloc(0);
  const need = async (length: number): Promise<Buffer> => {
    if (buffer.length < length) {
      const more = await readAt(handle, at, Math.min(Math.max(STEP_BYTES, length), end - at));
      at += more.length;
      buffer = Buffer.concat([buffer, more]);
    }
    const taken = buffer.subarray(0, length);
    buffer = buffer.subarray(length);
    return taken;
  };
  for (;;) {
    const length = (await need(4)).readUInt32BE(0);
    if (length === 0) return;
    yield await need(length);
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
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
