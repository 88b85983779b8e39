/**
 * Protobuf bodies to JSON objects: the `k8s\0` envelope, and in it any built-in kind by its field table.
 *
 * Go writes zeros explicitly; without presence they mean nothing and are left out. A pointer keeps its zero. Numbers
 * of fields that are not in the table are stepped over. The walk copies scalars out of the input and nothing else.
 *
 * It fails with a ProtobufError on anything malformed: cut short, overlong, a wrong wire type, nesting without end.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { ProtobufError, Reader, wireType } from '../../../api/protobuf.ts';
import { isObject, setKey } from '../json/json-objects.ts';
import { JsonSyntaxError, maxMembers, readJson, tooManyMembers } from '../json/json-reader.ts';
import { findMessage, isScalarType, type Message, type MessageField, messageOfKind } from './message-tables.ts';
import { isSpecialType, readSpecial } from './protobuf-special.ts';

export type Envelope = { readonly apiVersion: string; readonly kind: string; readonly raw: Uint8Array };

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
const maxDepth = 100;

function hasMagic(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && magic.every((byte, i) => bytes[i] === byte);
}

export function readEnvelope(bytes: Uint8Array): Envelope {
  if (!hasMagic(bytes))
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  const reader = new Reader(bytes, 4);
  let apiVersion = '';
  let kind = '';
  let raw = new Uint8Array(0);
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) {
      const outer = reader.enter();
      while (reader.hasMore) {
        const inner = reader.tag();
        if (inner === 0x0a) apiVersion = reader.string();
        else if (inner === 0x12) kind = reader.string();
        else reader.skip(inner);
      }
      reader.leave(outer);
    } else if (tag === 0x12) raw = reader.bytes() as Uint8Array<ArrayBuffer>;
    else if (tag === 0x1a) {
      const encoding = reader.string();
      if (encoding !== '') throw new ProtobufError(`unsupported content encoding ${JSON.stringify(encoding)}`);
    } else reader.skip(tag);
  }
  return { apiVersion, kind, raw };
}

/** The object of a kind; undefined when there is no table for it. */
export function readKind(raw: Uint8Array, apiVersion: string, kind: string): JsonObject | undefined {
  const message = messageOfKind(apiVersion, kind);
  return message && readMessage(new Reader(raw), message, 1);
}

function readMessage(reader: Reader, message: Message, depth: number): JsonObject {
  if (depth > maxDepth) throw new ProtobufError(`Cannot read ${message.name}: nested deeper than ${maxDepth}`);
  const object: JsonObject = {};
  let entries = 0; // of all its maps: no message has more than two
  while (reader.hasMore) {
    const tag = reader.tag();
    const field = message.byNumber.get(tag >>> 3);
    if (!field) reader.skip(tag);
    else if (field.shape === 'map') {
      if (++entries > maxMembers) throw new ProtobufError(`Cannot read ${message.name}: ${tooManyMembers}`);
      readEntry(reader, tag, field, object, depth);
    } else if (field.shape === 'list') readElement(reader, tag, field, object, depth);
    else {
      const value = readValue(reader, tag, field.type, depth);
      if (field.name === '') {
        if (isObject(value)) for (const key of Object.keys(value)) setKey(object, key, value[key]!);
      } else if (value !== undefined && (field.hasPresence || !isZero(value))) object[field.name] = value;
      else delete object[field.name]; // the last one counts, also when it is zero
    }
  }
  return object;
}

function readElement(reader: Reader, tag: number, field: MessageField, object: JsonObject, depth: number): void {
  object[field.name] ??= [];
  const list = object[field.name] as JsonValue[];
  const isPacked = (tag & 7) === wireType.lengthDelimited && isVarintType(field.type);
  if (!isPacked) {
    list.push(readValue(reader, tag, field.type, depth) ?? null);
    return;
  }
  const outer = reader.enter();
  while (reader.hasMore) list.push(field.type === 'bool' ? reader.bool() : reader.exactInt());
  reader.leave(outer);
}

function isVarintType(type: string): boolean {
  return type === 'int32' || type === 'int64' || type === 'bool';
}

function readEntry(reader: Reader, tag: number, field: MessageField, object: JsonObject, depth: number): void {
  object[field.name] ??= {};
  const map = object[field.name] as JsonObject;
  expectWire(tag, wireType.lengthDelimited, field.type);
  const outer = reader.enter();
  let key = '';
  let value: JsonValue | undefined;
  while (reader.hasMore) {
    const inner = reader.tag();
    if (inner === 0x0a) key = reader.string();
    else if (inner >>> 3 === 2) value = readValue(reader, inner, field.type, depth);
    else reader.skip(inner);
  }
  reader.leave(outer);
  setKey(map, key, value ?? emptyOf(field.type));
}

function readValue(reader: Reader, tag: number, type: string, depth: number): JsonValue | undefined {
  if (isScalarType(type)) return readScalar(reader, tag, type);
  expectWire(tag, wireType.lengthDelimited, type);
  const outer = reader.enter();
  const value = isSpecialType(type)
    ? readSpecial(reader, type, { schema: (at) => nested(at, type, depth), json: readEmbedded })
    : readMessage(reader, tableOf(type), depth + 1);
  reader.leave(outer);
  return value;
}

/** A JSONSchemaProps inside one of its unions. */
function nested(reader: Reader, type: string, depth: number): JsonObject {
  const outer = reader.enter();
  const value = readMessage(reader, tableOf(`${type.slice(0, type.indexOf('.'))}.JSONSchemaProps`), depth + 1);
  reader.leave(outer);
  return value;
}

function readEmbedded(text: string): JsonValue {
  try {
    return readJson(text).value;
  } catch (err) {
    if (err instanceof JsonSyntaxError)
      throw new ProtobufError(`Cannot read embedded JSON: ${err.message}`, { cause: err });
    throw err;
  }
}

function readScalar(reader: Reader, tag: number, type: string): JsonValue {
  switch (type) {
    case 'string':
      expectWire(tag, wireType.lengthDelimited, type);
      return reader.string();
    case 'bytes':
      expectWire(tag, wireType.lengthDelimited, type);
      return Buffer.from(reader.bytes()).toString('base64');
    case 'bool':
      expectWire(tag, wireType.varint, type);
      return reader.bool();
    case 'double': {
      expectWire(tag, wireType.fixed64, type);
      const start = reader.position;
      reader.skip(tag);
      const { buffer } = reader;
      const value = new DataView(buffer.buffer, buffer.byteOffset).getFloat64(start, true);
      if (!Number.isFinite(value)) throw new ProtobufError('Cannot read a double: JSON has no word for it');
      return value;
    }
    default:
      expectWire(tag, wireType.varint, type);
      return reader.exactInt();
  }
}

function expectWire(tag: number, want: number, type: string): void {
  if ((tag & 7) !== want)
    throw new ProtobufError(`Cannot read field ${tag >>> 3} as ${type}: its wire type is ${tag & 7}`);
}

function tableOf(type: string): Message {
  const message = findMessage(type);
  if (!message) throw new ProtobufError(`Cannot read ${type}: no field table`);
  return message;
}

function emptyOf(type: string): JsonValue {
  if (type === 'string' || type === 'bytes') return '';
  if (type === 'bool') return false;
  if (type === 'int32' || type === 'int64' || type === 'double') return 0;
  if (type === 'resource.Quantity') return '0';
  return type.endsWith('ExtraValue') ? [] : {};
}

function isZero(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null)
    return value === '' || value === 0 || value === false || value === null;
  for (const _ in value) return false;
  return true;
}
