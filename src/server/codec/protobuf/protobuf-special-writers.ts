/**
 * The messages whose JSON is not an object with their fields, on their way out: times, quantities, embedded JSON,
 * unions. Each writes the fields of a message that the caller has begun and ends; undefined stands for what nobody set,
 * which Go writes too where it holds the type by value.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { jsonText } from '../../../api/json-text.ts';
import type { Writer } from '../../../api/protobuf.ts';

export type WriteValue = (writer: Writer, number: number, value: JsonValue | undefined) => void;

/** `schema` writes a JSONSchemaProps as a field of the message at hand. */
type WriteSpecial = (writer: Writer, value: JsonValue | undefined, schema: WriteValue) => void;

const NANOS_PER_MICRO = 1000;
const FRACTION_AT = '2006-01-02T15:04:05.'.length;

const special: ReadonlyMap<string, WriteSpecial> = new Map<string, WriteSpecial>([
  ['meta/v1.Time', writeTime],
  ['meta/v1.MicroTime', writeMicroTime],
  ['meta/v1.FieldsV1', writeRawJson],
  ['runtime.RawExtension', writeRawJson],
  ['apiextensions/v1.JSON', writeRawJson],
  ['resource.Quantity', (writer, value = '0') => writer.string(1, value as string)],
  ['intstr.IntOrString', writeIntOrString],
  ['apiextensions/v1.JSONSchemaPropsOrArray', writeSchemaOrArray],
  ['apiextensions/v1.JSONSchemaPropsOrBool', writeSchemaOrBool],
  ['apiextensions/v1.JSONSchemaPropsOrStringArray', writeSchemaOrStrings],
  ['meta/v1.Verbs', writeStrings],
  ['authentication/v1.ExtraValue', writeStrings],
  ['authorization/v1.ExtraValue', writeStrings],
  ['certificates/v1.ExtraValue', writeStrings],
]);

export function specialWriter(type: string): WriteSpecial | undefined {
  return special.get(type);
}

/** No time is a message without fields. */
function writeTime(writer: Writer, text: JsonValue | undefined): void {
  if (text) writer.int(1, secondsOf(text as string)).int(2, 0);
}

function writeMicroTime(writer: Writer, text: JsonValue | undefined): void {
  if (!text) return;
  const micros = Number((text as string).slice(FRACTION_AT, -1)); // as the server stores it: six digits and a Z
  writer.int(1, secondsOf(text as string)).int(2, micros * NANOS_PER_MICRO);
}

function secondsOf(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`Cannot write a time: ${JSON.stringify(text)} is none`);
  return Math.floor(ms / 1000);
}

function writeRawJson(writer: Writer, value: JsonValue | undefined): void {
  if (value !== undefined) writer.string(1, jsonText(value));
}

function writeIntOrString(writer: Writer, value: JsonValue | undefined): void {
  const isText = typeof value === 'string';
  writer.int(1, isText ? 1 : 0).int(2, isText ? 0 : Number(value ?? 0));
  writer.string(3, isText ? value : '');
}

function writeStrings(writer: Writer, value: JsonValue | undefined): void {
  for (const text of (value ?? []) as string[]) writer.string(1, text);
}

function writeSchemaOrArray(writer: Writer, value: JsonValue | undefined, schema: WriteValue): void {
  if (Array.isArray(value)) for (const one of value) schema(writer, 2, one);
  else schema(writer, 1, value);
}

/** A schema allows what it describes. */
function writeSchemaOrBool(writer: Writer, value: JsonValue | undefined, schema: WriteValue): void {
  if (typeof value === 'boolean') writer.bool(1, value);
  else schema(writer.bool(1, true), 2, value as JsonObject);
}

function writeSchemaOrStrings(writer: Writer, value: JsonValue | undefined, schema: WriteValue): void {
  if (Array.isArray(value)) for (const text of value) writer.string(2, text as string);
  else schema(writer, 1, value);
}
