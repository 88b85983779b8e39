/**
 * JSON objects to protobuf, the way of protobuf-reader.ts back: any built-in kind by its field table, in the `k8s\0`
 * envelope.
 *
 * The bytes are those of Go's generated code: fields in the order of their numbers, maps in the order of their keys.
 * What Go holds by value is written even if it is zero or absent; pointers, lists, maps and bytes only if they are
 * there. Reading what was written gives an equal object.
 *
 * Everything is put together in one piece of memory that all calls share and that grows with the largest object; what
 * is returned is a copy. A value that does not fit its field is a bug of whoever made the object, and throws.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { varintSize, Writer, writeVarint } from '../../../api/protobuf.ts';
import { findMessage, type Message, type MessageField, messageOfKind } from './message-tables.ts';
import { specialWriter, type WriteValue } from './protobuf-special-writers.ts';

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
const RAW = 0x12;
const ITEM = 0x12;
/** No content encoding, no content type: Go writes both. */
const envelopeEnd = Uint8Array.of(0x1a, 0, 0x22, 0);
const listSuffix = 'List';

const scratch = new Writer(64 * 1024);

/** Any object or list that has a kind, in its envelope. */
export function encodeProtobuf(object: JsonObject): Buffer {
  const apiVersion = String(object.apiVersion);
  const kind = String(object.kind);
  const message = messageOfKind(apiVersion, kind);
  if (!message) {
    const items = (object.items as JsonObject[]).map((item) => encodeItem(item, apiVersion, kind));
    return Buffer.concat(listParts(apiVersion, kind, object.metadata as JsonObject, items));
  }
  scratch.clear();
  writeFields(scratch, message, object);
  const raw = scratch.finish();
  return Buffer.concat([envelopeHead(apiVersion, kind, raw.length), raw, envelopeEnd]);
}

/** One element of a list, as `listParts` takes it. */
export function encodeItem(item: JsonObject, apiVersion: string, listKind: string): Buffer {
  scratch.clear();
  writeFields(scratch, itemOf(apiVersion, listKind) ?? missing(`${apiVersion} ${listKind}`), item);
  const bytes = scratch.finish();
  const head = lengthAfter(ITEM, bytes.length);
  const whole = Buffer.allocUnsafe(head.length + bytes.length);
  whole.set(head);
  whole.set(bytes, head.length);
  return whole;
}

/** A list in its envelope, without a copy of its items. All lists of the API are alike: metadata and items. */
export function listParts(
  apiVersion: string,
  kind: string,
  metadata: JsonObject,
  items: readonly Buffer[],
): readonly Buffer[] {
  scratch.clear();
  const start = scratch.begin(1);
  writeFields(scratch, findMessage('meta/v1.ListMeta')!, metadata);
  const meta = Buffer.from(scratch.end(start).finish());
  let length = meta.length;
  for (const item of items) length += item.length;
  return [envelopeHead(apiVersion, kind, length), meta, ...items, Buffer.from(envelopeEnd)];
}

function itemOf(apiVersion: string, listKind: string): Message | undefined {
  return listKind.endsWith(listSuffix) ? messageOfKind(apiVersion, listKind.slice(0, -listSuffix.length)) : undefined;
}

/** Everything before the object itself. */
function envelopeHead(apiVersion: string, kind: string, rawLength: number): Buffer {
  const type = new Writer().message(1, (writer) => writer.string(1, apiVersion).string(2, kind)).finish();
  return Buffer.concat([magic, type, lengthAfter(RAW, rawLength)]);
}

function lengthAfter(tag: number, length: number): Uint8Array {
  const bytes = new Uint8Array(1 + varintSize(length));
  bytes[0] = tag;
  writeVarint(bytes, 1, length);
  return bytes;
}

type FieldWriter = {
  readonly number: number;
  /** `''`: the fields of the message are the parent's. */
  readonly name: string;
  readonly shape: MessageField['shape'];
  /** Left out when there is nothing in it. */
  readonly isOptional: boolean;
  readonly write: WriteValue;
};

const fieldWriters = new WeakMap<Message, readonly FieldWriter[]>();

function writeFields(writer: Writer, message: Message, object: JsonObject): void {
  for (const { number, name, shape, isOptional, write } of fieldsOf(message)) {
    const value = name === '' ? object : object[name];
    const isAbsent = value === undefined || value === null;
    if (isAbsent && isOptional) continue;
    if (shape === 'single') write(writer, number, isAbsent ? undefined : value);
    else if (shape === 'list') for (const element of value as JsonValue[]) write(writer, number, element);
    else writeMap(writer, number, value as JsonObject, write);
  }
}

function writeMap(writer: Writer, number: number, map: JsonObject, write: WriteValue): void {
  for (const key of Object.keys(map).sort()) {
    const start = writer.begin(number);
    writer.string(1, key);
    write(writer, 2, map[key]);
    writer.end(start);
  }
}

function fieldsOf(message: Message): readonly FieldWriter[] {
  let fields = fieldWriters.get(message);
  if (!fields) {
    fields = [...message.byNumber.values()].sort((a, b) => a.number - b.number).map(fieldWriter);
    fieldWriters.set(message, fields);
  }
  return fields;
}

function fieldWriter({ number, name, type, shape, hasPresence }: MessageField): FieldWriter {
  const isOptional = hasPresence || shape !== 'single' || type === 'bytes';
  return { number, name, shape, isOptional, write: valueWriter(type) };
}

const scalarWriters: Readonly<Record<string, WriteValue>> = {
  string: (writer, number, value = '') => writer.string(number, value as string),
  bytes: (writer, number, value = '') => writer.bytes(number, Buffer.from(value as string, 'base64')),
  bool: (writer, number, value = false) => writer.bool(number, value as boolean),
  int32: (writer, number, value = 0) => writer.int(number, value as number),
  int64: (writer, number, value = 0) =>
    typeof value === 'bigint' ? writer.int64(number, value) : writer.int(number, value as number),
  double: (writer, number, value = 0) => writer.double(number, value as number),
};

function valueWriter(type: string): WriteValue {
  const scalar = scalarWriters[type];
  if (scalar) return scalar;
  const special = specialWriter(type);
  if (!special) return messageWriter(type);
  const schema = messageWriter(`${type.slice(0, type.indexOf('.'))}.JSONSchemaProps`);
  return (writer, number, value) => {
    const start = writer.begin(number);
    special(writer, value, schema);
    writer.end(start);
  };
}

/** The table is looked up when it is first needed: types may contain themselves. */
function messageWriter(type: string): WriteValue {
  let message: Message | undefined;
  return (writer, number, value) => {
    message ??= findMessage(type) ?? missing(type);
    const start = writer.begin(number);
    writeFields(writer, message, (value ?? {}) as JsonObject);
    writer.end(start);
  };
}

function missing(type: string): never {
  throw new Error(`Cannot write ${type}: no field table`);
}
