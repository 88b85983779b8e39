/**
 * Writes a long body that exists in many pieces, a list of ten thousand objects for example, without joining it.
 *
 * Always true: no turn of the loop is held for more than a few milliseconds, and no more than one slice waits for a
 * slow client. Each slice waits for the turn of whoever is charged for it. If the client leaves, the pieces not yet taken are never asked for.
 */
import { constants, createGzip } from 'node:zlib';
import { type CpuAccount, runQueue } from '../../event-loop/run-queue.ts';
import type { Scratch } from './scratch.ts';
import { drained, type Wire } from './wire.ts';

/** Measured: slices of this size go out in one system call and stall nobody. */
const SLICE_PARTS = 512;
export const SLICE_BYTES: number = 1024 * 1024;
const SLICE_MS = 4;
/** A piece like this goes out by itself: TLS takes it from where it lies, while several would be copied together. */
const WHOLE_BYTES = 128 * 1024;
const GZIP_SLICE_BYTES = 256 * 1024;
/** Up to here a copy costs less than a write of its own for the head. */
const JOINED_BYTES = 32 * 1024;

export type PartsAnswer = {
  /** Sends the head, with the length of all parts together. */
  readonly begin: () => void;
  readonly parts: Iterable<Buffer>;
  /** Of all parts together. */
  readonly bytes: number;
  /** Told whenever the client has taken a slice. */
  readonly onTaken: () => void;
  readonly account: CpuAccount;
  readonly scratch: Scratch;
};

/** Several buffers in one write would be copied into fresh memory, head included: what is long leaves after it, as one. */
export async function writeParts(wire: Wire, answer: PartsAnswer): Promise<void> {
  const { begin, parts, bytes, onTaken, account, scratch } = answer;
  let leftBytes = bytes;
  let isBegun = false;
  for (const { slice, sliceBytes } of slices(parts, SLICE_PARTS, SLICE_BYTES)) {
    const isShort = sliceBytes < JOINED_BYTES;
    if (isShort) wire.cork();
    if (!isBegun) begin();
    isBegun = true;
    if (isShort || slice.length === 1) for (const part of slice) wire.writeDirect(part);
    else writeGathered(wire, slice, sliceBytes, scratch);
    if (isShort) wire.uncork();
    leftBytes -= sliceBytes;
    await drained(wire);
    if (!wire.isOpen) return;
    onTaken();
    if (leftBytes > 0) await runQueue.turn(account);
  }
  if (!isBegun) begin();
  wire.end();
}

function writeGathered(wire: Wire, slice: readonly Buffer[], bytes: number, scratch: Scratch): void {
  const target = scratch.take(bytes);
  wire.writeDirect(gather(slice, target), () => scratch.giveBack(target));
}

/** The parts one after the other, as what they fill of the target. */
export function gather(parts: Iterable<Buffer>, target: Buffer): Buffer {
  let at = 0;
  for (const part of parts) {
    target.set(part, at);
    at += part.length;
  }
  return target.subarray(0, at);
}

/** The head has gone out without a length. Compression runs on the thread pool, slice by slice. */
export async function writePartsGzipped(
  wire: Wire,
  parts: Iterable<Buffer>,
  onTaken: () => void,
  account: CpuAccount,
): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 });
  gzip.on('error', () => {}); // whoever waits hears of it below
  gzip.on('data', (bytes: Buffer) => wire.write(bytes));
  try {
    for (const { slice } of slices(parts, Number.POSITIVE_INFINITY, GZIP_SLICE_BYTES)) {
      const joined = slice.length === 1 ? slice[0]! : Buffer.concat(slice);
      await new Promise<void>((resolve, reject) => gzip.write(joined, (err) => (err ? reject(err) : resolve())));
      await drained(wire);
      if (!wire.isOpen) return;
      onTaken();
      await runQueue.turn(account);
    }
    await new Promise<void>((resolve, reject) => {
      gzip.once('end', resolve).once('error', reject).end();
    });
    wire.end();
  } finally {
    gzip.destroy();
  }
}

/** A body that exists in one piece, in pieces of one slice each. */
export function* piecesOf(body: Buffer): Generator<Buffer, void, void> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
}

type Slice = { readonly slice: Buffer[]; readonly sliceBytes: number };

/** Cuts where any of the limits is reached. Gathering counts too: whoever makes the parts may be slow. */
function* slices(parts: Iterable<Buffer>, limitParts: number, limitBytes: number): Generator<Slice, void, void> {
  let slice: Buffer[] = [];
  let sliceBytes = 0;
  let startedAt = performance.now();
  for (const part of parts) {
    if (part.length >= WHOLE_BYTES && slice.length > 0) {
      yield { slice, sliceBytes };
      slice = [];
      sliceBytes = 0;
    }
    slice.push(part);
    sliceBytes += part.length;
    const isLate = (slice.length & 31) === 0 && performance.now() - startedAt > SLICE_MS;
    const isFull = slice.length >= limitParts || sliceBytes >= limitBytes || part.length >= WHOLE_BYTES;
    if (!isFull && !isLate) continue;
    yield { slice, sliceBytes };
    slice = [];
    sliceBytes = 0;
    startedAt = performance.now();
  }
  if (slice.length > 0) yield { slice, sliceBytes };
}
