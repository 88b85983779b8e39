/**
 * A message that may be too long to be made in one go: its size is known when it begins to be sent, its pairs are
 * written only as they go out. What is small is written in place.
 *
 * Always true: `size` is exactly what `pieces()` yields together; a piece is about `PIECE_BYTES` long, so whoever sends
 * it can let others run in between. Counting many pairs yields too.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { varintSize, Writer, writeVarint } from '../../../api/protobuf.ts';
import { keyValueSize, writeKeyValue } from '../../key-value-record.ts';
import type { KeyValue } from '../../kv.ts';

const PIECE_BYTES = 128 * 1024;
/** So many pairs are counted, or made ready, before others get their turn. */
export const PAIRS_PER_TURN = 2000;

type Pairs = { readonly tag: number; readonly kvs: readonly KeyValue[]; readonly sizes: readonly number[] };
type Part = Uint8Array | Pairs;

export class LongMessage {
  #parts: Part[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Fields as they are. */
  write(write: (writer: Writer) => void): this {
    const writer = new Writer(64);
    write(writer);
    return this.#add(writer.finish(), writer.length);
  }

  /** Each pair as a message of its own in a repeated field. */
  async pairs(field: number, kvs: readonly KeyValue[]): Promise<this> {
    const sizes: number[] = [];
    let total = 0;
    for (const [at, kv] of kvs.entries()) {
      if (at > 0 && at % PAIRS_PER_TURN === 0) await nextTurn();
      const size = keyValueSize(kv);
      sizes.push(size);
      total += 1 + varintSize(size) + size;
    }
    return total === 0 ? this : this.#add({ tag: field * 8 + 2, kvs, sizes }, total);
  }

  /** Another message as a field; its parts are taken over. */
  message(field: number, inner: LongMessage): this {
    const head = Buffer.allocUnsafe(20);
    const at = writeVarint(head, writeVarint(head, 0, field * 8 + 2), inner.#size);
    this.#add(head.subarray(0, at), at);
    for (const part of inner.#parts) this.#parts.push(part);
    this.#size += inner.#size;
    return this;
  }

  *pieces(): Generator<Buffer, void, void> {
    let piece: Buffer[] = [];
    let bytes = 0;
    for (const part of this.#parts)
      for (const chunk of part instanceof Uint8Array ? [asChunk(part)] : chunksOf(part)) {
        piece.push(chunk);
        bytes += chunk.length;
        if (bytes < PIECE_BYTES) continue;
        yield piece.length === 1 ? chunk : Buffer.concat(piece, bytes);
        piece = [];
        bytes = 0;
      }
    if (bytes > 0) yield Buffer.concat(piece, bytes);
  }

  #add(part: Part, size: number): this {
    this.#parts.push(part);
    this.#size += size;
    return this;
  }
}

function asChunk(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The pairs as bytes, about a piece at a time. */
function* chunksOf({ tag, kvs, sizes }: Pairs): Generator<Buffer, void, void> {
  for (let from = 0; from < kvs.length; ) {
    let bytes = 0;
    let to = from;
    while (to < kvs.length && (to === from || bytes < PIECE_BYTES)) {
      const size = sizes[to++]!;
      bytes += 1 + varintSize(size) + size;
    }
    const chunk = Buffer.allocUnsafe(bytes);
    for (let at = 0; from < to; from++) {
      chunk[at] = tag;
      at = writeVarint(chunk, at + 1, sizes[from]!);
      at = writeKeyValue(kvs[from]!, chunk, at);
    }
    yield chunk;
  }
}
