/**
 * One version of one object as the cache keeps it: bytes, ready to be sent, and little else.
 *
 * In the store an object is its JSON without a resourceVersion, which is not known before it is stored:
 *
 *     {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"…",…},"spec":…}
 *
 * Here it is an element of a list, with the comma that joins it to the one before, and with its version:
 *
 *     ,{"metadata":{"name":"a","namespace":"b","uid":"…","resourceVersion":"7",…},"spec":…}
 *
 * so that a list is a gather of these bytes, and an event or a single object is a prefix with the type and the same
 * bytes behind it (custom kinds carry their type in lists too: there nothing is cut off). What selectors ask for is
 * read from the bytes when somebody asks, once.
 *
 * Immutable, but for the place where its bytes lie: a slab with those of its neighbours, or a buffer of its own.
 * Everything that is stored was written by `toStored`, so the first `"uid":"` is the object's own: only its names come
 * before, and those hold no quotes.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { Labels } from '../../api/label-selector.ts';
import { mayBeOutdated, restoreObject } from '../apiextensions/restore.ts';
import { goJson } from '../codec/encode.ts';
import { parseJson } from '../codec/json/json-reader.ts';
import { type KindFacts, readField } from '../registry/kind-facts.ts';
import type { Resource } from '../registry/resource.ts';
import type { Slab } from './slab.ts';

const UID_MARK = Buffer.from('"uid":"');
const QUOTE = 0x22;

/** The order in which metadata is stored: names and uid first, the rest as it comes. */
const METADATA_FIRST = ['name', 'generateName', 'namespace', 'uid'];

export class CachedObject {
  readonly form: ObjectForm;
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
  readonly #versionAt: number;
  #facts: { readonly labels: Labels | undefined; readonly fields: readonly string[] } | undefined;

  constructor(form: ObjectForm, namespace: string, name: string, revision: number, bytes: Buffer, versionAt: number) {
    this.form = form;
    this.namespace = namespace;
    this.name = name;
    this.key = namespace === '' ? name : `${namespace}/${name}`;
    this.revision = revision;
    this.bytes = bytes;
    this.slab = undefined;
    this.#versionAt = versionAt;
  }

  /** Lets its bytes lie in a slab, where a copy of them is. */
  moveInto(slab: Slab, bytes: Buffer): void {
    this.slab = slab;
    this.bytes = bytes;
  }

  /** Takes its bytes out of the slab, so that it does not keep all of that alive. */
  moveOut(): void {
    if (!this.slab) return;
    const bytes = Buffer.allocUnsafeSlow(this.bytes.length);
    bytes.set(this.bytes);
    this.slab = undefined;
    this.bytes = bytes;
  }

  get labels(): Labels | undefined {
    return this.#read().labels;
  }

  field(name: string): string {
    if (name === 'metadata.name') return this.name;
    if (name === 'metadata.namespace') return this.namespace;
    const at = this.form.fieldNames.indexOf(name);
    return at < 0 ? '' : this.#read().fields[at]!;
  }

  /** The whole object, parsed anew: the caller may change it. */
  parse(): KubeObject {
    const item = parseJson(this.bytes.toString('utf8', 1)) as JsonObject;
    return (this.form.resource.isCustom ? item : { ...this.form.type, ...item }) as unknown as KubeObject;
  }

  /** The same content under another version: what a DELETED event shows. */
  withRevision(revision: number): CachedObject {
    const before = this.bytes.subarray(0, this.#versionAt);
    const after = this.bytes.subarray(this.#versionAt + String(this.revision).length);
    const bytes = Buffer.concat([before, Buffer.from(String(revision)), after]);
    return new CachedObject(this.form, this.namespace, this.name, revision, bytes, this.#versionAt);
  }

  #read(): { readonly labels: Labels | undefined; readonly fields: readonly string[] } {
    if (!this.#facts) {
      const object = this.parse() as unknown as JsonObject;
      const { labels } = object.metadata as { labels?: Labels };
      this.#facts = { labels, fields: this.form.fields.map((field) => readField(object, field)) };
    }
    return this.#facts;
  }
}

/** How objects of one resource are stored and cached. */
export class ObjectForm {
  readonly resource: Resource;
  readonly type: { readonly kind: string; readonly apiVersion: string };
  /** What a single object begins with, up to its metadata. */
  readonly head: Buffer;
  /** How much of `bytes` the head stands for. */
  readonly skip: number;
  readonly fieldNames: readonly string[];
  readonly fields: readonly { readonly path: string; readonly absent?: string; readonly orElse?: string }[];
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
  }

  /** The bytes to store: no resourceVersion, type and names first. */
  toStored(object: KubeObject): Buffer {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
    const ordered: JsonObject = {};
    const { resourceVersion: _version, ...kept } = metadata as JsonObject;
    for (const name of METADATA_FIRST) if (kept[name] !== undefined) ordered[name] = kept[name];
    for (const [name, value] of Object.entries(kept)) if (!(name in ordered)) ordered[name] = value;
    return Buffer.from(goJson({ ...this.type, metadata: ordered, ...(rest as JsonObject) }));
  }

  /** `take` gives the room for its bytes. Not from Node's pool: a few bytes there would keep the whole pool alive. */
  fromStored(
    namespace: string,
    name: string,
    revision: number,
    value: Uint8Array,
    take: (size: number) => Buffer = Buffer.allocUnsafeSlow,
  ): CachedObject {
    const stored = this.#upToDate(Buffer.from(value.buffer, value.byteOffset, value.byteLength), revision);
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
    return new CachedObject(this, namespace, name, revision, bytes, versionAt);
  }

  /** A custom object that was written under an older definition is read as the present one says. */
  #upToDate(stored: Buffer, revision: number): Buffer {
    if (!this.resource.isCustom || !mayBeOutdated(this.resource, revision)) return stored;
    return this.toStored(restoreObject(parseJson(stored.toString('utf8')) as KubeObject, this.resource));
  }
}
