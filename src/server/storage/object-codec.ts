/**
 * How objects of one resource are stored: from an object to the bytes of a value, and from those to a StoredObject.
 *
 * In the store an object is its JSON without a resourceVersion, which is not known before it is stored:
 *
 *     {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"…",…},"spec":…}
 *
 * Always true: everything that is stored was written by `encode`, so the first `"uid":"` is the object's own: only its
 * names come before, and those hold no quotes. Decoding copies bytes and parses nothing; what is no object is an error.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { mayBeOutdated, restoreObject } from '../apiextensions/restore.ts';
import { goJson } from '../codec/encode.ts';
import { parseJson } from '../codec/json/json-reader.ts';
import { type Wanted, wantedOf } from '../codec/json/pick-fields.ts';
import type { KindFacts } from '../registry/kind-facts.ts';
import type { Resource } from '../registry/resource.ts';
import { StoredObject } from './stored-object.ts';

const UID_MARK = Buffer.from('"uid":"');
const QUOTE = 0x22;

/** The order in which metadata is stored: names and uid first, the rest as it comes. */
const METADATA_FIRST = ['name', 'generateName', 'namespace', 'uid'];

export class ObjectCodec {
  readonly resource: Resource;
  readonly type: { readonly kind: string; readonly apiVersion: string };
  /** What a single object begins with, up to its metadata. */
  readonly head: Buffer;
  /** How much of `bytes` the head stands for. */
  readonly skip: number;
  readonly fieldNames: readonly string[];
  readonly fields: readonly { readonly path: string; readonly absent?: string; readonly orElse?: string }[];
  /** What selectors ask for. */
  readonly selectable: Wanted;
  readonly #storedHead: Buffer;

  constructor(resource: Resource, facts: KindFacts) {
    this.resource = resource;
    this.type = { kind: resource.kind, apiVersion: resource.groupVersion };
    this.#storedHead = Buffer.from(`${JSON.stringify(this.type).slice(0, -1)},`);
    this.head = resource.isCustom ? Buffer.alloc(0) : this.#storedHead;
    this.skip = resource.isCustom ? 1 : 2;
    const fields = [...facts.fields].filter(([name]) => name !== 'metadata.name' && name !== 'metadata.namespace');
    this.fieldNames = fields.map(([name]) => name);
    this.fields = fields.map(([, field]) => field);
    const paths = this.fields.flatMap(({ path, orElse }) => (orElse === undefined ? [path] : [path, orElse]));
    this.selectable = wantedOf(['metadata.labels', ...paths]);
  }

  /** The bytes to store: no resourceVersion, type and names first. */
  encode(object: KubeObject): Buffer {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
    const ordered: JsonObject = {};
    const { resourceVersion: _version, ...kept } = metadata as JsonObject;
    for (const name of METADATA_FIRST) if (kept[name] !== undefined) ordered[name] = kept[name];
    for (const [name, value] of Object.entries(kept)) if (!(name in ordered)) ordered[name] = value;
    return Buffer.from(goJson({ ...this.typeOf(object), metadata: ordered, ...(rest as JsonObject) }));
  }

  /** What the object is stored as. */
  protected typeOf(_object: KubeObject): { readonly kind: string; readonly apiVersion: string } {
    return this.type;
  }

  /** `take` gives the room for its bytes. Not from Node's pool: a few bytes there would keep the whole pool alive. */
  decode(
    namespace: string,
    name: string,
    revision: number,
    value: Uint8Array,
    take: (size: number) => Buffer = Buffer.allocUnsafeSlow,
  ): StoredObject {
    const stored = this.upToDate(Buffer.from(value.buffer, value.byteOffset, value.byteLength), revision);
    const uidAt = stored.indexOf(UID_MARK);
    if (uidAt < 0) throw new Error(`Cannot read ${this.resource.kind} "${name}": what is stored has no uid`);
    const insertAt = stored.indexOf(QUOTE, uidAt + UID_MARK.length) + 1;
    const version = `,"resourceVersion":"${revision}"`;
    // A custom kind keeps its type in lists; of a built-in one all between the brace and the metadata is left out.
    const start = this.resource.isCustom ? 1 : this.#storedHead.length;
    const bytes = take(2 + stored.length - start + version.length);
    bytes[0] = 0x2c; // ,
    bytes[1] = 0x7b; // {
    let at = 2;
    at += stored.copy(bytes, at, start, insertAt);
    const versionAt = at + version.length - 1 - String(revision).length;
    at += bytes.write(version, at, 'latin1');
    stored.copy(bytes, at, insertAt);
    return new StoredObject(this, namespace, name, revision, bytes, versionAt);
  }

  /** A custom object that was written under an older definition is read as the present one says. */
  protected upToDate(stored: Buffer, revision: number): Buffer {
    if (!this.resource.isCustom || !mayBeOutdated(this.resource, revision)) return stored;
    return this.encode(restoreObject(parseJson(stored.toString('utf8')) as KubeObject, this.resource));
  }
}
