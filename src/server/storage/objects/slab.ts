/**
 * Bytes of many objects side by side in one buffer, so that a list of neighbours leaves as one piece instead of
 * thousands, and an object costs no buffer of its own.
 *
 * Always true: only current objects lie in a slab; `live` is the number of their bytes in it. What is replaced or
 * deleted moves out before it goes on living elsewhere (in the window of recent changes), so a slab is kept by what
 * counts it alone. Who keeps slabs full is said in packed-objects.ts.
 */
import { type ObjectMemory, ownMemory } from './object-memory.ts';
import type { StoredObject } from './stored-object.ts';

/** Measured: a list is sent in slices of this size, and one that lies in one piece is not copied on its way. */
export const SLAB_BYTES: number = 1024 * 1024;
/** Bounds the time it takes to look through one. */
export const SLAB_OBJECTS = 512;
/** Larger objects stand alone: next to none of what sending them costs is per piece. */
export const PACKED_BYTES: number = 32 * 1024;

export class Slab {
  readonly bytes: Buffer;
  /** How much of `bytes` was given out. */
  used = 0;
  live = 0;

  /** Places in it and in its memory are the same. */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get slackBytes(): number {
    return this.bytes.length - this.used;
  }

  take(size: number): Buffer {
    const taken = this.bytes.subarray(this.used, this.used + size);
    this.used += size;
    return taken;
  }
}

/** Puts objects into slabs, one after another, that come in the order of their keys. */
export class SlabWriter {
  readonly #memory: ObjectMemory;
  #slab: Slab | undefined;
  #objects = 0;
  #isAlone = false;

  constructor(memory: ObjectMemory = ownMemory) {
    this.#memory = memory;
  }

  /** What `make` makes takes the room for its bytes from here, once. */
  placed(make: (take: (size: number) => Buffer) => StoredObject): StoredObject {
    const object = make(this.#take);
    if (!this.#isAlone) object.moveInto(this.#slab!, object.bytes);
    return object;
  }

  readonly #take = (size: number): Buffer => {
    this.#isAlone = size > PACKED_BYTES;
    if (this.#isAlone) return this.#memory.allocate(size);
    if (!this.#slab || this.#slab.slackBytes < size || this.#objects === SLAB_OBJECTS) {
      this.#slab = new Slab(this.#memory.allocate(SLAB_BYTES));
      this.#objects = 0;
    }
    this.#objects++;
    return this.#slab.take(size);
  };
}

/** The bytes of the objects, in order: those that lie side by side as one piece. */
export function* piecesOf(objects: readonly StoredObject[]): Iterable<Buffer> {
  for (let i = 0; i < objects.length; ) {
    const { slab, bytes } = objects[i++]!;
    if (!slab) {
      yield bytes;
      continue;
    }
    const begin = bytes.byteOffset;
    let end = begin + bytes.length;
    for (let next = objects[i]; next?.slab === slab && next.bytes.byteOffset === end; next = objects[++i])
      end += next.bytes.length;
    yield end === begin + bytes.length ? bytes : slab.bytes.subarray(begin, end);
  }
}
