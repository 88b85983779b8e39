/**
 * One version of one object as it is read from the store: bytes, ready to be sent, and little else.
 *
 * It is an element of a list, with the comma that joins it to the one before, and with its version:
 *
 *     ,{"metadata":{"name":"a","namespace":"b","uid":"…","resourceVersion":"7",…},"spec":…}
 *
 * so that a list is a gather of these bytes, and an event or a single object is a prefix with the type and the same
 * bytes behind it (custom kinds carry their type in lists too: there nothing is cut off). What selectors ask for is
 * read from the bytes when somebody asks, once.
 *
 * Immutable, but for the place where its bytes lie: a slab with those of its neighbours, or a buffer of its own.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { Labels } from '../../../api/selectors/label-selector.ts';
import { parseJson } from '../../codec/json/json-reader.ts';
import { endOfValue, pickFields, type Wanted, wantedOf } from '../../codec/json/pick-fields.ts';
import { readField } from '../../registry/kind-facts.ts';
import type { ObjectCodec } from './object-codec.ts';
import { objectKey } from './object-keys.ts';
import { type ObjectMemory, ownMemory } from './object-memory.ts';
import type { Slab } from './slab.ts';

const METADATA = Buffer.from('"metadata":');
const LABELS = wantedOf(['metadata.labels']);

export class StoredObject {
  readonly codec: ObjectCodec;
  readonly namespace: string;
  readonly name: string;
  /** Its place in the order of lists. */
  readonly key: string;
  readonly revision: number;
  /** Read anew after every wait: they may have moved. */
  bytes: Buffer;
  /** Where the bytes lie; undefined: in a buffer of their own. */
  slab: Slab | undefined;
  /** Where in `bytes` the digits of the version begin. */
  readonly versionAt: number;
  /** Null: nobody has asked. Apart from the fields: they stand at the beginning, and most who ask want nothing else. */
  #labels: Labels | null | undefined = null;
  #fields: readonly string[] | undefined;

  constructor(
    codec: ObjectCodec,
    namespace: string,
    name: string,
    revision: number,
    bytes: Buffer,
    versionAt: number,
    key: string = objectKey(namespace, name),
  ) {
    this.codec = codec;
    this.namespace = namespace;
    this.name = name;
    this.key = key;
    this.revision = revision;
    this.bytes = bytes;
    this.slab = undefined;
    this.versionAt = versionAt;
  }

  /** Lets its bytes lie in a slab, where a copy of them is. */
  moveInto(slab: Slab, bytes: Buffer): void {
    this.slab = slab;
    this.bytes = bytes;
  }

  /** Takes its bytes out of the slab, so that it does not keep all of that alive. */
  moveOut(memory: ObjectMemory = ownMemory): void {
    if (!this.slab) return;
    const bytes = memory.take(this.bytes.length);
    bytes.set(this.bytes);
    this.moveTo(bytes);
  }

  /** Lets its bytes lie by themselves, where a copy of them is. */
  moveTo(bytes: Buffer): void {
    this.slab = undefined;
    this.bytes = bytes;
  }

  get labels(): Labels | undefined {
    if (this.#labels === null)
      this.#labels = (this.#read(LABELS).metadata as { labels?: Labels } | undefined)?.labels ?? undefined;
    return this.#labels;
  }

  field(name: string): string {
    if (name === 'metadata.name') return this.name;
    if (name === 'metadata.namespace') return this.namespace;
    const at = this.codec.fieldNames.indexOf(name);
    return at < 0 ? '' : this.#readFields()[at]!;
  }

  /** The whole object, parsed anew: the caller may change it. */
  parse(): KubeObject {
    const item = parseJson(this.bytes.toString('utf8', 1)) as JsonObject;
    if (this.codec.resource.isCustom) return item as unknown as KubeObject;
    const { kind, apiVersion } = this.codec.type;
    return { kind, apiVersion, ...item } as unknown as KubeObject;
  }

  /** The JSON of its metadata, as it lies in `bytes`: it is the first member, or the first after the type. */
  metadataBytes(): Buffer {
    const from = this.bytes.indexOf(METADATA) + METADATA.length;
    const end = from < METADATA.length ? undefined : endOfValue(this.bytes, from);
    if (end === undefined) throw new Error(`Cannot find the metadata of ${this.codec.type.kind} "${this.name}"`);
    return this.bytes.subarray(from, end);
  }

  /** The same content under another version: what a DELETED event shows. */
  withRevision(revision: number): StoredObject {
    const before = this.bytes.subarray(0, this.versionAt);
    const after = this.bytes.subarray(this.versionAt + String(this.revision).length);
    const bytes = Buffer.concat([before, Buffer.from(String(revision)), after]);
    return new StoredObject(this.codec, this.namespace, this.name, revision, bytes, this.versionAt);
  }

  #readFields(): readonly string[] {
    if (!this.#fields) {
      const object = this.#read(this.codec.selectable);
      this.#fields = this.codec.fields.map((field) => readField(object, field));
    }
    return this.#fields;
  }

  #read(wanted: Wanted): JsonObject {
    return pickFields(this.bytes, 1, wanted) ?? (this.parse() as unknown as JsonObject);
  }
}
