/**
 * What is in a snapshot: one of ours (its format is said in snapshot-file.ts), or one of etcd's.
 *
 * Always true: the sum of the whole file is checked before anything of it is believed; records come some at a time, and
 * again from the beginning with every call.
 *
 * It fails with Corrupt, or with UnsupportedFormat on one of ours that another version wrote.
 */
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { StoreError } from '../../errors.ts';
import type { EtcdRecord } from '../../etcd-snapshot/etcd-snapshot.ts';
import { openEtcdSnapshot } from '../../etcd-snapshot/read-etcd-snapshot.ts';
import type { Revision } from '../../kv.ts';
import type { LogEntry } from '../engine/engine.ts';
import { encodeRecord } from '../state/log-record.ts';

export const SNAPSHOT_MAGIC: Buffer = Buffer.from('longwatch snapshot 1\n');
/** Of the records in it. */
export const RECORD_FORMAT = 1;
export const STEP_RECORDS = 1000;
export const STEP_BYTES: number = 1024 * 1024;
export const POSITION_BYTES = 12;

export type SnapshotHeader = {
  readonly format: number;
  readonly revision: Revision;
  readonly compactRevision: Revision;
  readonly leases: readonly (readonly [string, number])[];
};

/** What a snapshot holds. Its sum has been checked; its records can be read more than once. */
type SnapshotContent = {
  readonly header: SnapshotHeader;
  /** Without the checksum. */
  readonly bytes: number;
  readonly sha256: string;
  /** Some at a time. */
  records(): AsyncIterable<readonly LogEntry[]>;
};

export type SnapshotReader = SnapshotContent & AsyncDisposable;

export async function openSnapshotFile(file: string): Promise<SnapshotReader> {
  const handle = await open(file, 'r');
  try {
    return { ...(await readSnapshot(file, handle)), [Symbol.asyncDispose]: () => handle.close() };
  } catch (err) {
    await handle.close();
    throw err;
  }
}

/** One of ours, or one of etcd's. */
export async function readSnapshot(file: string, handle: FileHandle): Promise<SnapshotContent> {
  const { bytes, sha256, isOfEtcd } = await checkSum(file, handle);
  if (isOfEtcd) {
    const { records, revision, compactRevision, leases } = await openEtcdSnapshot(handle, bytes);
    const header = { format: RECORD_FORMAT, revision, compactRevision, leases };
    return { header, bytes, sha256, records: () => fromEtcd(records()) };
  }
  const header = JSON.parse((await framesOf(handle, bytes).next()).value!.toString()) as SnapshotHeader;
  if (header.format !== RECORD_FORMAT)
    throw new StoreError(
      'UnsupportedFormat',
      `Cannot restore from ${JSON.stringify(file)}: it has format ${header.format}, this version reads ${RECORD_FORMAT}; ` +
        'use the version that wrote it',
    );
  return { header, bytes, sha256, records: () => recordsIn(handle, bytes) };
}

/** Leaves of etcd's hold few records each: too few for a commit. */
async function* fromEtcd(records: AsyncIterable<readonly EtcdRecord[]>): AsyncGenerator<LogEntry[], void, void> {
  let some: LogEntry[] = [];
  let someBytes = 0;
  for await (const leaf of records) {
    for (const { revision, sub, kv } of leaf) {
      const record = encodeRecord(kv);
      some.push({ revision, sub, record });
      someBytes += record.length;
    }
    if (some.length < STEP_RECORDS && someBytes < STEP_BYTES) continue;
    yield some;
    some = [];
    someBytes = 0;
  }
  yield some;
}

async function* recordsIn(handle: FileHandle, bytes: number): AsyncGenerator<LogEntry[], void, void> {
  const frames = framesOf(handle, bytes);
  await frames.next(); // the header
  let some: LogEntry[] = [];
  let someBytes = 0;
  for await (const frame of frames) {
    const [revision, sub] = [Number(frame.readBigUInt64BE(0)), frame.readUInt32BE(8)];
    some.push({ revision, sub, record: frame.subarray(POSITION_BYTES) });
    someBytes += frame.length;
    if (some.length < STEP_RECORDS && someBytes < STEP_BYTES) continue;
    yield some;
    some = [];
    someBytes = 0;
  }
  yield some;
}

type Checked = { readonly bytes: number; readonly sha256: string; readonly isOfEtcd: boolean };

async function checkSum(file: string, handle: FileHandle): Promise<Checked> {
  const corrupt = (what: string) => new StoreError('Corrupt', `Cannot restore from ${JSON.stringify(file)}: ${what}`);
  const { size } = await handle.stat();
  const bytes = size - 32;
  if (bytes < SNAPSHOT_MAGIC.length + 8) throw corrupt('it is too short to be a snapshot');
  // Pages of etcd's database are never less than 512 bytes long, and ours does not begin with zeros.
  const isOfEtcd = bytes % 512 === 0 && !(await readAt(handle, 0, SNAPSHOT_MAGIC.length)).equals(SNAPSHOT_MAGIC);
  const hash: Hash = createHash('sha256');
  for (let at = 0; at < bytes; ) {
    const chunk = await readAt(handle, at, Math.min(STEP_BYTES, bytes - at));
    const isOurs = at > 0 || chunk.subarray(0, SNAPSHOT_MAGIC.length).equals(SNAPSHOT_MAGIC);
    if (!isOurs && !isOfEtcd) throw corrupt('it is not a snapshot of ours, nor of etcd');
    hash.update(chunk);
    at += chunk.length;
  }
  const sha256 = hash.digest();
  if (!sha256.equals(await readAt(handle, bytes, 32)))
    throw corrupt('its checksum does not match, it is damaged or cut short');
  return { bytes, sha256: sha256.toString('hex'), isOfEtcd };
}

/** The header, then every record; the file's sum has been checked, so its lengths can be believed. */
async function* framesOf(handle: FileHandle, end: number): AsyncGenerator<Buffer> {
  let at = SNAPSHOT_MAGIC.length;
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
