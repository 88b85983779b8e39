/**
 * The messages whose JSON is not an object with their fields: times, quantities, embedded JSON, unions.
 * Each reads the message the reader was narrowed to; undefined means that nothing was set. The way back is in
 * protobuf-special-writers.ts.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { ProtobufError, type Reader } from '../../../api/protobuf.ts';
import { formatGoDuration } from '../../../api/scalars/durations.ts';
import { timeFromEpoch } from '../scalars/go-time.ts';

export type SpecialReaders = {
  /** Reads the JSONSchemaProps at hand. */
  readonly schema: (reader: Reader) => JsonObject;
  readonly json: (text: string) => JsonValue;
};

type ReadSpecial = (reader: Reader, readers: SpecialReaders) => JsonValue | undefined;

const special: ReadonlyMap<string, ReadSpecial> = new Map<string, ReadSpecial>([
  ['meta/v1.Time', (reader) => readTime(reader, false)],
  ['meta/v1.MicroTime', (reader) => readTime(reader, true)],
  ['meta/v1.Duration', (reader) => formatGoDuration(BigInt(readInt(reader)))],
  ['meta/v1.FieldsV1', readRawJson],
  ['runtime.RawExtension', readRawJson],
  ['apiextensions/v1.JSON', readRawJson],
  ['resource.Quantity', (reader) => readText(reader) ?? '0'],
  ['intstr.IntOrString', readIntOrString],
  ['apiextensions/v1.JSONSchemaPropsOrArray', readSchemaUnion],
  ['apiextensions/v1.JSONSchemaPropsOrBool', readSchemaOrBool],
  ['apiextensions/v1.JSONSchemaPropsOrStringArray', readSchemaOrStrings],
  ['meta/v1.Verbs', readStrings],
  ['authentication/v1.ExtraValue', readStrings],
  ['authorization/v1.ExtraValue', readStrings],
  ['certificates/v1.ExtraValue', readStrings],
]);

export function isSpecialType(type: string): boolean {
  return special.has(type);
}

export function readSpecial(reader: Reader, type: string, readers: SpecialReaders): JsonValue | undefined {
  return special.get(type)!(reader, readers);
}

function readTime(reader: Reader, isMicro: boolean): string | undefined {
  let seconds: number | undefined;
  let nanos = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x08) seconds = reader.int();
    else if (tag === 0x10) nanos = reader.int();
    else reader.skip(tag);
  }
  if (seconds === undefined) return undefined;
  const text = timeFromEpoch(seconds, nanos, isMicro);
  if (text === undefined) throw new ProtobufError(`Cannot read a time: ${seconds} s is out of range`);
  return text;
}

function readInt(reader: Reader): number {
  let value = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x08) value = reader.int();
    else reader.skip(tag);
  }
  return value;
}

function readText(reader: Reader): string | undefined {
  let text: string | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) text = reader.string();
    else reader.skip(tag);
  }
  return text;
}

function readRawJson(reader: Reader, { json }: SpecialReaders): JsonValue | undefined {
  const text = readText(reader);
  return text === undefined || text === '' ? undefined : json(text);
}

function readIntOrString(reader: Reader): JsonValue {
  let isText = false;
  let number = 0;
  let text = '';
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x08) isText = reader.int() === 1;
    else if (tag === 0x10) number = reader.int();
    else if (tag === 0x1a) text = reader.string();
    else reader.skip(tag);
  }
  return isText ? text : number;
}

function readStrings(reader: Reader): JsonValue[] {
  const strings: string[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) strings.push(reader.string());
    else reader.skip(tag);
  }
  return strings;
}

function readSchemaUnion(reader: Reader, { schema }: SpecialReaders): JsonValue {
  let single: JsonObject | undefined;
  const list: JsonObject[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) single = schema(reader);
    else if (tag === 0x12) list.push(schema(reader));
    else reader.skip(tag);
  }
  return single ?? list;
}

function readSchemaOrBool(reader: Reader, { schema }: SpecialReaders): JsonValue {
  let allows = false;
  let single: JsonObject | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x08) allows = reader.bool();
    else if (tag === 0x12) single = schema(reader);
    else reader.skip(tag);
  }
  return single ?? allows;
}

function readSchemaOrStrings(reader: Reader, { schema }: SpecialReaders): JsonValue {
  let single: JsonObject | undefined;
  const strings: string[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) single = schema(reader);
    else if (tag === 0x12) strings.push(reader.string());
    else reader.skip(tag);
  }
  return single ?? strings;
}
