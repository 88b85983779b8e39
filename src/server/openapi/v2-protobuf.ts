/**
 * The version 2 document in protobuf, the only form in which kubectl up to 1.28 takes it: without it these neither
 * apply nor explain. Messages and field numbers are those of gnostic's OpenAPIv2.proto; written is what clients read of
 * them. Extensions travel as YAML text, and JSON is YAML.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { Writer } from '../../api/protobuf.ts';

export function swaggerProtobuf(document: JsonObject): Buffer {
  const writer = new Writer(1 << 20);
  const { title, version } = objectOf(document.info);
  writer.string(1, '2.0');
  writer.message(2, (info) => info.string(1, String(title)).string(2, String(version)));
  writer.message(8, (paths) => writeNamed(paths, 2, document.paths, writePathItem));
  writer.message(9, (definitions) => writeNamed(definitions, 1, document.definitions, writeSchema));
  return Buffer.from(writer.finish());
}

const methodFields = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const;

function writePathItem(writer: Writer, item: JsonObject): void {
  for (const [method, field] of Object.entries(methodFields)) {
    const operation = item[method];
    if (operation !== undefined) writer.message(field, (inner) => writeOperation(inner, objectOf(operation)));
  }
  writeParameters(writer, 9, item.parameters);
}

function writeOperation(writer: Writer, operation: JsonObject): void {
  writer.string(5, String(operation.operationId));
  for (const type of listOf(operation.produces)) writer.string(6, String(type));
  for (const type of listOf(operation.consumes)) writer.string(7, String(type));
  writeParameters(writer, 8, operation.parameters);
  writer.message(9, (responses) =>
    writeNamed(responses, 1, operation.responses, (value, response) =>
      value.message(1, (inner) => writeResponse(inner, response)),
    ),
  );
  writeExtensions(writer, 13, operation);
}

/** By object: the same few parameters come again and again. */
const encodedParameters = new WeakMap<JsonObject, Uint8Array>();

function writeParameters(writer: Writer, field: number, parameters: JsonValue | undefined): void {
  for (const parameter of listOf(parameters).map(objectOf)) {
    const encoded = encodedParameters.get(parameter) ?? encodeParameter(parameter);
    encodedParameters.set(parameter, encoded);
    writer.bytes(field, encoded);
  }
}

function encodeParameter({ name, in: place, required, type, schema }: JsonObject): Uint8Array {
  const writeBody = (body: Writer) => {
    body.string(2, String(name)).string(3, 'body');
    if (required === true) body.bool(4, true);
    body.message(5, (content) => writeSchema(content, objectOf(schema)));
  };
  const isInPath = place === 'path';
  const writePlain = (plain: Writer) => {
    if (required === true) plain.bool(1, true);
    plain.string(2, String(place)).string(4, String(name));
    plain.string(isInPath ? 5 : 6, String(type)).bool(isInPath ? 19 : 20, true);
  };
  return new Writer(128)
    .message(1, (parameter) => {
      if (place === 'body') parameter.message(1, writeBody);
      else parameter.message(2, (plain) => plain.message(isInPath ? 4 : 3, writePlain));
    })
    .finish();
}

function writeResponse(writer: Writer, { description, schema }: JsonObject): void {
  writer.string(1, String(description));
  if (schema !== undefined)
    writer.message(2, (item) => item.message(1, (inner) => writeSchema(inner, objectOf(schema))));
}

function writeSchema(writer: Writer, schema: JsonObject): void {
  const { $ref, format, description, required, additionalProperties, type, items, properties } = schema;
  if (typeof $ref === 'string') writer.string(1, $ref);
  if (typeof format === 'string') writer.string(2, format);
  if (typeof description === 'string') writer.string(4, description);
  for (const name of listOf(required)) writer.string(19, String(name));
  for (const value of listOf(schema.enum)) writer.message(20, (any) => any.string(2, jsonText(value)));
  if (typeof additionalProperties === 'boolean') writer.message(21, (item) => item.bool(2, additionalProperties));
  else if (additionalProperties !== undefined)
    writer.message(21, (item) => item.message(1, (inner) => writeSchema(inner, objectOf(additionalProperties))));
  if (typeof type === 'string') writer.message(22, (item) => item.string(1, type));
  if (items !== undefined)
    writer.message(23, (item) => item.message(1, (inner) => writeSchema(inner, objectOf(items))));
  if (properties !== undefined) writer.message(25, (inner) => writeNamed(inner, 1, properties, writeSchema));
  writeExtensions(writer, 31, schema);
}

/** A map, as pairs of name and value. */
function writeNamed(
  writer: Writer,
  field: number,
  map: JsonValue | undefined,
  write: (writer: Writer, value: JsonObject) => void,
): void {
  for (const [name, value] of Object.entries(objectOf(map)))
    writer.message(field, (pair) => pair.string(1, name).message(2, (inner) => write(inner, objectOf(value))));
}

function writeExtensions(writer: Writer, field: number, from: JsonObject): void {
  for (const [name, value] of Object.entries(from)) {
    if (!name.startsWith('x-')) continue;
    writer.message(field, (pair) => pair.string(1, name).message(2, (any) => any.string(2, jsonText(value))));
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
