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
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue, KubeObject } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { mayBeOutdated, restoreObject } from '../../apiextensions/restore.ts';
import { goEscaped } from '../../codec/encode.ts';
import { isObject, setKey } from '../../codec/json/json-objects.ts';
import { parseJson } from '../../codec/json/json-reader.ts';
import { type Wanted, wantedOf } from '../../codec/json/pick-fields.ts';
import { sharedText } from '../../codec/json/shared-objects.ts';
import type { KindFacts } from '../../registry/kind-facts.ts';
import type { Resource } from '../../registry/resource.ts';
import { StoredObject } from './stored-object.ts';

const UID_MARK = Buffer.from('"uid":"');
const QUOTE = 0x22;
const VERSION_MARK = ',"resourceVersion":"';
/** What an element of a list begins with: the comma and the brace. */
const LIST_START = 2;

/** The order in which metadata is stored: names and uid first, the rest as it comes, who owns what, and no version. */
const METADATA_FIRST: readonly string[] = ['name', 'generateName', 'namespace', 'uid'];
const APART: ReadonlySet<string> = new Set([...METADATA_FIRST, 'resourceVersion', 'managedFields']);

export class ObjectCodec {
  readonly resource: Resource;
  readonly type: { readonly kind: string; readonly apiVersion: string };
  /** What a single object begins with, up to its metadata. */
  readonly head: Buffer;
  /** How much of `bytes` the head stands for. */
  readonly skip: number;
  readonly fieldNames: readonly string[];
  readonly fields: readonly { readonly path: string; readonly absent?: string; readonly orElse?: string }[];
  /** What field selectors ask for. */
  readonly selectable: Wanted;
  readonly #storedHead: string;

  constructor(resource: Resource, facts: KindFacts) {
    this.resource = resource;
    this.type = { kind: resource.kind, apiVersion: resource.groupVersion };
    this.#storedHead = headText(this.type);
    this.head = resource.isCustom ? Buffer.alloc(0) : Buffer.from(this.#storedHead);
    this.skip = resource.isCustom ? 1 : 2;
    const own = ['metadata.name', 'metadata.namespace'];
    const fields = [...facts.storedFields].filter(([name]) => !own.includes(name));
    this.fieldNames = fields.map(([name]) => name);
    this.fields = fields.map(([, field]) => field);
    const paths = this.fields.flatMap(({ path, orElse }) => (orElse === undefined ? [path] : [path, orElse]));
    this.selectable = wantedOf(paths);
  }

  /** The bytes to store: no resourceVersion, type and names first. */
  encode(object: KubeObject): Buffer {
    let text = `${this.storedHead(object)}"metadata":${metadataText(object.metadata as JsonObject)}`;
    for (const key of Object.keys(object)) {
      if (key === 'kind' || key === 'apiVersion' || key === 'metadata') continue;
      const part = jsonText(object[key]);
      if (part !== undefined) text += `,${JSON.stringify(key)}:${part}`;
    }
    return Buffer.from(goEscaped(`${text}}`));
  }

  /** What the JSON of an object begins with, up to its metadata. */
  protected storedHead(_object: KubeObject): string {
    return this.#storedHead;
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
    const version = `${VERSION_MARK}${revision}"`;
    const start = this.#storedFrom;
    const bytes = take(LIST_START + stored.length - start + version.length);
    bytes[0] = 0x2c; // ,
    bytes[1] = 0x7b; // {
    let at = LIST_START;
    at += stored.copy(bytes, at, start, insertAt);
    const versionAt = at + version.length - 1 - String(revision).length;
    at += bytes.write(version, at, 'latin1');
    stored.copy(bytes, at, insertAt);
    return new StoredObject(this, namespace, name, revision, bytes, versionAt);
  }

  /** Whether an object has the same content as what is to be stored; the order of fields does not count. */
  isStoredAs(object: StoredObject, value: Buffer): boolean {
    const { bytes, versionAt, revision } = object;
    const start = this.#storedFrom;
    // Both without their beginnings, and the object without its version.
    const version = versionAt - VERSION_MARK.length;
    const behind = versionAt + String(revision).length + 1;
    const before = version - LIST_START;
    if (value.length - start !== before + bytes.length - behind) return false;
    if (value.compare(bytes, LIST_START, version, start, start + before) !== 0) return false; // names, always in order
    if (value.compare(bytes, behind, bytes.length, start + before) === 0) return true;
    if (!mayBeReordered(value.subarray(start + before), bytes.subarray(behind))) return false;
    return isDeepStrictEqual(object.parse(), this.decode(object.namespace, object.name, revision, value).parse());
  }

  /** A custom kind keeps its type in lists; of a built-in one all between the brace and the metadata is left out. */
  get #storedFrom(): number {
    return this.resource.isCustom ? 1 : this.#storedHead.length;
  }

  /** A custom object that was written under an older definition is read as the present one says. */
  protected upToDate(stored: Buffer, revision: number): Buffer {
    if (!this.resource.isCustom || !mayBeOutdated(this.resource, revision)) return stored;
    return this.encode(restoreObject(parseJson(stored.toString('utf8')) as KubeObject, this.resource));
  }
}

/** What the JSON of an object of a type begins with, up to its metadata. */
export function headText({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
}

/** One text for all of it but what is owned, which is last and often written already: each call for a text costs as much as many fields. */
function metadataText(metadata: JsonObject): string {
  const ordered: JsonObject = {};
  for (const name of METADATA_FIRST) if (metadata[name] !== undefined) ordered[name] = metadata[name];
  for (const name of Object.keys(metadata)) if (!APART.has(name)) setKey(ordered, name, metadata[name]!);
  const text = jsonText(ordered);
  const { managedFields } = metadata;
  if (managedFields === undefined) return text;
  return withMember(
    text,
    'managedFields',
    Array.isArray(managedFields) ? entriesText(managedFields) : jsonText(managedFields),
  );
}

function entriesText(entries: readonly JsonValue[]): string {
  return `[${entries.map((entry) => (isObject(entry) ? entryText(entry) : jsonText(entry))).join(',')}]`;
}

/** In the order of the wire. */
function entryText(entry: JsonObject): string {
  const { fieldsV1, subresource, ...others } = entry;
  const fields = isObject(fieldsV1) ? sharedText(fieldsV1) : undefined;
  if (fields === undefined) return jsonText(entry);
  const text = withMember(jsonText(others), 'fieldsV1', fields);
  return subresource === undefined ? text : withMember(text, 'subresource', jsonText(subresource));
}

/** The text of an object with one more member. */
function withMember(text: string, name: string, value: string): string {
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"${name}":${value}}`;
}

/**
 * Whether two texts of one length, which differ, may be the same fields in another order, and so the same bytes in another
 * order: a sum tells most others apart cheaply.
 */
function mayBeReordered(a: Buffer, b: Buffer): boolean {
  let from = 0;
  while (a[from] === b[from]) from++;
  let to = a.length;
  while (a[to - 1] === b[to - 1]) to--;
  let difference = 0;
  for (let i = from; i < to; i++) difference += a[i]! * a[i]! - b[i]! * b[i]!;
  return difference === 0;
}
