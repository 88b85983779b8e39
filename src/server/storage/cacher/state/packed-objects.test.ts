import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { factsOf } from '../../../registry/kind-facts.ts';
import { Registry } from '../../../registry/registry.ts';
import { ObjectCodec } from '../../objects/object-codec.ts';
import { PACKED_BYTES, piecesOf, SLAB_BYTES, SlabWriter } from '../../objects/slab.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { PackedObjects } from './packed-objects.ts';

const configMaps = new Registry().find('', 'v1', 'configmaps')!;
const codec = new ObjectCodec(configMaps, factsOf(configMaps));
/** What may stay untidy however little there is. */
const IDLE_BYTES = 256 * 1024;

let revision = 1;

function make(name: string, dataBytes: number, slabs?: SlabWriter): StoredObject {
  const stored = codec.encode({
    ...codec.type,
    metadata: { name, namespace: 'ns', uid: `uid-of-${name}` },
    data: { x: `${++revision} `.repeat(dataBytes / 8) },
  });
  const read = (take?: (size: number) => Buffer) => codec.decode('ns', name, revision, stored, take);
  return slabs ? slabs.placed(read) : read();
}

const nameOf = (at: number) => `n${String(at).padStart(5, '0')}`;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Until no pass is under way: after so many turns none can be. */
async function rest(): Promise<void> {
  for (let turns = 0; turns < 200; turns++) await turn();
}

function loaded(count: number, dataBytes: number): PackedObjects {
  const slabs = new SlabWriter();
  const objects = new PackedObjects();
  objects.load(Array.from({ length: count }, (_, at) => make(nameOf(at), dataBytes, slabs)));
  return objects;
}

/** In how many pieces a list of everything leaves. */
const pieces = (objects: PackedObjects) => [...piecesOf(objects.values())];
const listed = (objects: PackedObjects) => Buffer.concat(pieces(objects)).toString();

describe('PackedObjects', () => {
  it('lists the bytes of its objects in order, whatever was set and deleted, and stays tidy', async () => {
    const step = fc.record({
      at: fc.nat(400),
      isDelete: fc.boolean(),
      dataBytes: fc.constantFrom(100, 3000, 20_000, PACKED_BYTES + 1000),
      count: fc.constantFrom(1, 1, 30, 150),
      waits: fc.constantFrom(0, 1, 40),
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(300), fc.array(step, { maxLength: 12 }), async (first, steps) => {
        const objects = loaded(first, 2000);
        const truth = new Map(objects.values().map((object) => [object.key, object.bytes.toString()]));
        const replaced: { object: StoredObject; bytes: string }[] = [];
        for (const { at, isDelete, dataBytes, count, waits } of steps) {
          for (let i = at; i < at + count; i++) {
            const key = `ns/${nameOf(i)}`;
            const before = objects.get(key);
            if (before) replaced.push({ object: before, bytes: before.bytes.toString() });
            if (isDelete) {
              objects.delete(key);
              truth.delete(key);
            } else {
              const object = make(nameOf(i), dataBytes);
              objects.set(object);
              truth.set(key, object.bytes.toString());
            }
          }
          for (let turns = 0; turns < waits; turns++) await turn();
          const expected = [...truth].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
          expect(listed(objects) === expected.join('')).toBe(true);
        }
        for (const { object, bytes } of replaced) {
          expect(object.slab).toBeUndefined(); // it would keep all of the slab
          expect(object.bytes.toString() === bytes).toBe(true);
        }
        await rest();
        const { looseBytes, deadBytes } = objects.untidy;
        const live = objects.values().reduce((sum, { bytes }) => sum + bytes.length, 0);
        expect(looseBytes + deadBytes).toBeLessThanOrEqual(Math.max(IDLE_BYTES, live / 4));
        expect(deadBytes).toBe(heldBytes(objects) - packedBytes(objects));
        objects.close();
      }),
      { numRuns: 30 },
    );
  });

  it('lists what was loaded in pieces of a slab each', () => {
    const objects = loaded(1000, 4000);
    expect(objects.untidy).toEqual({ looseBytes: 0, deadBytes: 0 });
    expect(pieces(objects).length).toBe(Math.ceil((1000 * objects.values()[0]!.bytes.length) / SLAB_BYTES));
    expect(heldBytes(objects)).toBe(packedBytes(objects));
  });

  it('takes no more memory for a few objects than they have bytes', () => {
    const objects = loaded(3, 400);
    const { slab } = objects.values()[0]!;
    expect(slab!.bytes.length).toBe(packedBytes(objects));
  });

  it('packs what came one by one, in any order', async () => {
    const objects = new PackedObjects();
    for (let at = 0; at < 1000; at++) objects.set(make(nameOf((at * 619) % 1000), 4000));
    expect(pieces(objects).length).toBe(1000);
    await rest();
    expect(pieces(objects).length).toBeLessThan(20);
    expect(objects.untidy).toEqual({ looseBytes: 0, deadBytes: 0 });
  });

  it('gives memory back when nearly all is deleted', async () => {
    const objects = loaded(2000, 4000);
    for (let at = 0; at < 2000; at++) if (at % 250 !== 7) objects.delete(`ns/${nameOf(at)}`); // one is left in each slab
    await rest();
    expect(objects.size).toBe(8);
    expect(heldBytes(objects)).toBe(packedBytes(objects));
  });

  it('leaves slabs alone in which nothing has changed', async () => {
    const objects = loaded(2000, 4000);
    const untouched = objects.get(`ns/${nameOf(1900)}`)!.slab;
    for (let at = 0; at < 900; at++) objects.set(make(nameOf(at), 4000));
    await rest();
    expect(objects.get(`ns/${nameOf(1900)}`)!.slab).toBe(untouched);
    expect(objects.get(`ns/${nameOf(5)}`)!.slab).toBeDefined();
  });

  it('does not go on after it is closed', async () => {
    const objects = new PackedObjects();
    for (let at = 0; at < 300; at++) objects.set(make(nameOf(at), 4000));
    objects.close();
    await rest();
    expect(pieces(objects).length).toBe(300);
  });
});

/** What all slabs take that the objects lie in, as far as they were given out. */
function heldBytes(objects: PackedObjects): number {
  const slabs = new Set(objects.values().flatMap(({ slab }) => slab ?? []));
  return [...slabs].reduce((sum, { used }) => sum + used, 0);
}

function packedBytes(objects: PackedObjects): number {
  return objects.values().reduce((sum, { slab, bytes }) => sum + (slab ? bytes.length : 0), 0);
}
