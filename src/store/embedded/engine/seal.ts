/**
 * The seal: what the store must hold, told in a few bytes that go to the disk with every commit.
 *
 * Records carry a checksum each, so a damaged one shows; that one is missing, or back from the past, shows only here:
 * - `records` and `sum` are of every record in the log: how many there are, and the sum of a hash of each one's place. A
 *   place is written once and never again, and the checksum of a record covers the revision it belongs to, so the right
 *   places hold the right records. Sums do not care for order: an append adds to them, a removal subtracts.
 * - `leases` and `leaseSum` are the same of the leases, each with its time. The marks of compaction are told as they are.
 * - `revision` is the last one given out; `commit` counts, and `store` is drawn when a store is made: no two files that were
 *   not the same have the same seal.
 *
 * A seal is checked when a store is opened, against all that was read (recovery.ts) and against the copy that lies in a file
 * of its own (disk/seal-file.ts). Everything here is pure.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { LeaseId, Revision } from '../../kv.ts';
import type { EngineCommit } from './engine.ts';

/** 64 bits, in two halves that wrap around each for itself. */
export type Sum = { readonly high: number; readonly low: number };

export type Seal = {
  readonly store: bigint;
  readonly commit: number;
  readonly revision: Revision;
  readonly records: number;
  readonly sum: Sum;
  readonly leases: number;
  readonly leaseSum: Sum;
  readonly compactScheduled: Revision;
  readonly compactFinished: Revision;
};

const NO_SUM: Sum = { high: 0, low: 0 };
const MAGIC = Buffer.from('LWSEAL02');
export const SEAL_BYTES = 92;

/** Of a store that was just made. */
export function newSeal(): Seal {
  const store = randomBytes(8).readBigUInt64LE(0);
  const nothing = { records: 0, sum: NO_SUM, leases: 0, leaseSum: NO_SUM };
  return { store, commit: 0, revision: 1, ...nothing, compactScheduled: 0, compactFinished: 0 };
}

/** Counts and adds up places; what a log or a table of leases comes to. */
export class Tally {
  count: number;
  #high: number;
  #low: number;

  constructor(count = 0, { high, low }: Sum = NO_SUM) {
    this.count = count;
    this.#high = high;
    this.#low = low;
  }

  get sum(): Sum {
    return { high: this.#high >>> 0, low: this.#low >>> 0 };
  }

  addRecord(revision: Revision, sub: number, sign: 1 | -1 = 1): void {
    this.#add(Math.floor(revision / 0x1_0000_0000), revision >>> 0, sub, sign);
  }

  addLease(id: LeaseId, ttlSeconds: number, sign: 1 | -1 = 1): void {
    const high = Number(id >> 32n) ^ Math.imul(Math.floor(ttlSeconds / 0x1_0000_0000), 0x9e37_79b1);
    this.#add(high, Number(id & 0xffff_ffffn), ttlSeconds >>> 0, sign);
  }

  #add(a: number, b: number, c: number, sign: 1 | -1): void {
    this.count += sign;
    this.#high = (this.#high + sign * hash(a, b, c, 0x5bd1_e995)) | 0;
    this.#low = (this.#low + sign * hash(a, b, c, 0x27d4_eb2f)) | 0;
  }
}

/** The seal that goes with a commit on a store whose seal was `before` and whose leases on the disk are `leases`. */
export function sealAfter(before: Seal, commit: EngineCommit, leases: ReadonlyMap<LeaseId, number>): Seal {
  const records = new Tally(before.records, before.sum);
  for (const { revision, sub } of commit.append) records.addRecord(revision, sub);
  for (const { revision, sub } of commit.remove) records.addRecord(revision, sub, -1);
  const leased = new Tally(before.leases, before.leaseSum);
  for (const [id, ttl] of commit.leases) {
    const old = leases.get(id);
    if (old !== undefined) leased.addLease(id, old, -1);
    if (ttl !== undefined) leased.addLease(id, ttl);
  }
  const compactScheduled = commit.meta.get('compact.scheduled') ?? before.compactScheduled;
  const last = commit.append[commit.append.length - 1];
  return {
    store: before.store,
    commit: before.commit + 1,
    revision: Math.max(before.revision, last?.revision ?? 0, compactScheduled),
    records: records.count,
    sum: records.sum,
    leases: leased.count,
    leaseSum: leased.sum,
    compactScheduled,
    compactFinished: commit.meta.get('compact.finished') ?? before.compactFinished,
  };
}

export function encodeSeal(seal: Seal): Buffer {
  const bytes = Buffer.alloc(SEAL_BYTES);
  MAGIC.copy(bytes);
  bytes.writeBigUInt64LE(seal.store, 8);
  const numbers = [seal.commit, seal.revision, seal.records, seal.leases, seal.compactScheduled, seal.compactFinished];
  for (const [i, number] of numbers.entries()) bytes.writeBigUInt64LE(BigInt(number), 16 + i * 8);
  for (const [i, { high, low }] of [seal.sum, seal.leaseSum].entries()) {
    bytes.writeUInt32LE(high, 64 + i * 8);
    bytes.writeUInt32LE(low, 68 + i * 8);
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(0, SEAL_BYTES - 4)), SEAL_BYTES - 4);
  return bytes;
}

/** Undefined if these bytes are not a seal, or a damaged one. */
export function decodeSeal(bytes: Buffer | undefined): Seal | undefined {
  if (bytes?.length !== SEAL_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (crc32(bytes.subarray(0, SEAL_BYTES - 4)) !== bytes.readUInt32LE(SEAL_BYTES - 4)) return undefined;
  const number = (at: number) => Number(bytes.readBigUInt64LE(at));
  const sum = (at: number): Sum => ({ high: bytes.readUInt32LE(at), low: bytes.readUInt32LE(at + 4) });
  return {
    store: bytes.readBigUInt64LE(8),
    commit: number(16),
    revision: number(24),
    records: number(32),
    leases: number(40),
    compactScheduled: number(48),
    compactFinished: number(56),
    sum: sum(64),
    leaseSum: sum(72),
  };
}

export function isSameSeal(a: Seal, b: Seal): boolean {
  return encodeSeal(a).equals(encodeSeal(b));
}

/** 32 well mixed bits of three words. */
function hash(a: number, b: number, c: number, seed: number): number {
  let state = stir(stir(stir(seed, a), b), c);
  state = Math.imul(state ^ (state >>> 16), 0x85eb_ca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2_ae35);
  return state ^ (state >>> 16);
}

function stir(state: number, word: number): number {
  const mixed = Math.imul(word, 0xcc9e_2d51);
  const turned = Math.imul((mixed << 15) | (mixed >>> 17), 0x1b87_3593);
  const next = state ^ turned;
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe654_6b64) | 0;
}
