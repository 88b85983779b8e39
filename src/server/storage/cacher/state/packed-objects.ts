/**
 * The current objects of one resource in the order of their keys, with their bytes side by side in slabs.
 *
 *   keys    a  b  c  d  e  f  g  h          what changes stands alone (c′), and leaves a hole (×) where it was
 *   slabs  [a  b  ×][d  e  ×][f  g  h]      a pass through the keys packs such stretches anew and leaves
 *   alone         c′                        full slabs as they are
 *
 * Always true: between two passes, holes and what stands alone make up less than a quarter of all bytes, or than
 * `IDLE_BYTES`; a pass costs others no more than a copy of one slab per turn. So each byte that is written is copied a
 * few times at most, however large the resource is. Objects too large for a slab stand alone for good.
 *
 * Where another thread packs, in memory that both see, nothing is copied here: it tells where objects lie now.
 */

import { type ObjectMemory, ownMemory } from '../../objects/object-memory.ts';
import { PACKED_BYTES, SLAB_BYTES, SLAB_OBJECTS, Slab } from '../../objects/slab.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { OrderedMap, type Weighed } from './ordered-map.ts';

/** Not worth a pass. */
const IDLE_BYTES = 256 * 1024;
const UNTIDY_SHARE = 1 / 4;

/** Objects lie in this slab from now on. */
export type PackedListener = (slab: Slab, objects: readonly StoredObject[]) => void;

export class PackedObjects {
  /** False: another thread does. */
  packs = true;
  onPacked: PackedListener | undefined;
  readonly #memory: ObjectMemory;
  readonly #map = new OrderedMap<StoredObject>(({ bytes }) => bytes.length);
  #liveBytes = 0;
  /** Of objects that stand alone and need not. */
  #looseBytes = 0;
  /** In slabs, of objects that are there no more. */
  #deadBytes = 0;
  /** Where the pass goes on; undefined: there is none. */
  #passAt: string | undefined;
  #isClosed = false;

  constructor(memory: ObjectMemory = ownMemory) {
    this.#memory = memory;
  }

  get size(): number {
    return this.#map.size;
  }

  /** Of all objects together. */
  get bytes(): number {
    return this.#liveBytes;
  }

  /** Bytes that lists must gather one by one, and bytes that nobody needs. */
  get untidy(): { readonly looseBytes: number; readonly deadBytes: number } {
    return { looseBytes: this.#looseBytes, deadBytes: this.#deadBytes };
  }

  get(key: string): StoredObject | undefined {
    return this.#map.get(key);
  }

  /** How many bytes move out when the object changes. */
  packedBytes(key: string): number {
    const object = this.#map.get(key);
    return object?.slab ? object.bytes.length : 0;
  }

  /** See OrderedMap. */
  values(prefix?: string, start?: string, limit?: number): StoredObject[] {
    return this.#map.values(prefix, start, limit);
  }

  /** The same with all their bytes. */
  range(prefix: string, start: string, limit: number | undefined): Weighed<StoredObject> {
    return this.#map.range(prefix, start, limit);
  }

  count(prefix?: string, start?: string): number {
    return this.#map.count(prefix, start);
  }

  set(object: StoredObject): void {
    this.#remove(this.#map.get(object.key));
    this.#map.set(object.key, object);
    this.#add(object);
    this.#passIfDue();
  }

  /** It lies in another slab, where a copy of it is. */
  move(object: StoredObject, slab: Slab, place: Buffer): void {
    this.#leave(object);
    object.moveInto(slab, place);
    slab.live += place.length;
  }

  /** It lies by itself, where a copy of it is. */
  moveOut(object: StoredObject, place: Buffer): void {
    if (!object.slab) return;
    this.#leave(object);
    object.moveTo(place);
    if (place.length <= PACKED_BYTES) this.#looseBytes += place.length;
  }

  /** All there is, in the order of keys, best from a SlabWriter; nothing may be here before. */
  load(objects: readonly StoredObject[]): void {
    for (const object of objects) {
      this.#map.set(object.key, object);
      this.#add(object);
    }
    const last = objects[objects.length - 1]?.slab;
    let begin = objects.length;
    while (last && begin > 0 && objects[begin - 1]!.slab === last) begin--;
    if (last && this.packs) this.#pack(objects.slice(begin)); // most of the last slab may be empty
    this.#passIfDue();
  }

  delete(key: string): void {
    this.#remove(this.#map.get(key));
    if (this.#map.delete(key)) this.#passIfDue();
  }

  clear(): void {
    this.#map.clear();
    this.#liveBytes = 0;
    this.#looseBytes = 0;
    this.#deadBytes = 0;
  }

  /** No pass begins or goes on. */
  close(): void {
    this.#isClosed = true;
  }

  #add({ bytes, slab }: StoredObject): void {
    this.#liveBytes += bytes.length;
    if (slab) slab.live += bytes.length;
    else if (bytes.length <= PACKED_BYTES) this.#looseBytes += bytes.length;
  }

  #remove(object: StoredObject | undefined): void {
    if (!object) return;
    this.#liveBytes -= object.bytes.length;
    this.#leave(object);
    if (this.packs) object.moveOut(this.#memory);
  }

  /** Its bytes are not counted any more where they lie. */
  #leave({ bytes, slab }: StoredObject): void {
    if (!slab) {
      if (bytes.length <= PACKED_BYTES) this.#looseBytes -= bytes.length;
      return;
    }
    slab.live -= bytes.length;
    this.#deadBytes += bytes.length;
    if (slab.live === 0) this.#deadBytes -= slab.used; // nothing keeps it now
  }

  #passIfDue(): void {
    if (this.#passAt !== undefined || this.#isClosed || !this.packs) return;
    if (this.#looseBytes + this.#deadBytes <= Math.max(IDLE_BYTES, this.#liveBytes * UNTIDY_SHARE)) return;
    this.#passAt = '';
    setImmediate(this.#step);
  }

  readonly #step = (): void => {
    if (this.#passAt === undefined || this.#isClosed) return;
    this.#passAt = this.packs ? this.#packFrom(this.#passAt) : undefined;
    if (this.#passAt === undefined)
      this.#passIfDue(); // what changed meanwhile may be reason enough for another
    else setImmediate(this.#step);
  };

  /** Packs the first stretch at or after a key that needs it; answers where to go on. */
  #packFrom(key: string): string | undefined {
    const objects = this.#map.values('', key, 2 * SLAB_OBJECTS);
    let begin = 0;
    let end = 0;
    let bytes = 0;
    while (end < objects.length) {
      const run = runAt(objects, end);
      if (run.isSettled && end === begin) {
        begin = run.end;
        end = run.end;
        if (end >= SLAB_OBJECTS) break;
        continue;
      }
      const isEnough = bytes + run.bytes > SLAB_BYTES || run.end - begin > SLAB_OBJECTS;
      if (run.isSettled || (isEnough && end > begin)) break;
      bytes += run.bytes;
      end = run.end;
    }
    if (end > begin) this.#pack(objects.slice(begin, end));
    const isLast = end === objects.length && end < 2 * SLAB_OBJECTS;
    return isLast ? undefined : `${objects[end - 1]!.key}\0`;
  }

  #pack(objects: readonly StoredObject[]): void {
    const bytes = objects.reduce((sum, object) => sum + object.bytes.length, 0);
    const first = objects[0]!.slab;
    if (first && first.used === bytes && first.slackBytes <= PACKED_BYTES && isAllIn(objects, first)) return;
    const slab = new Slab(this.#memory.allocate(bytes));
    for (const object of objects) {
      const place = slab.take(object.bytes.length);
      place.set(object.bytes);
      this.move(object, slab, place);
    }
    this.onPacked?.(slab, objects);
  }
}

/** What lies side by side already, or a single object that does not. */
type Run = {
  readonly end: number;
  readonly bytes: number;
  /** Nothing is won by packing it anew. */
  readonly isSettled: boolean;
};

function runAt(objects: readonly StoredObject[], begin: number): Run {
  const { slab, bytes: first } = objects[begin]!;
  let bytes = first.length;
  let end = begin + 1;
  if (!slab) return { end, bytes, isSettled: bytes > PACKED_BYTES };
  while (end < objects.length && objects[end]!.slab === slab) bytes += objects[end++]!.bytes.length;
  const isLarge = bytes >= SLAB_BYTES / 2 || end - begin >= SLAB_OBJECTS / 2;
  return { end, bytes, isSettled: isLarge && bytes === slab.used };
}

function isAllIn(objects: readonly StoredObject[], slab: Slab): boolean {
  return objects.every((object) => object.slab === slab);
}
