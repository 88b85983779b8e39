/**
 * What Go knows of the built-in types and OpenAPI does not: the protobuf number of each field, and whether the field is
 * a pointer, so that a zero in it means something.
 *
 * Tables are read from text one message at a time, when first asked for, and kept.
 */
import { protobufMessages, protobufPackages } from './generated/protobuf-fields.ts';

export type MessageField = {
  readonly number: number;
  /** The JSON name; `''`: the fields of the message belong to the parent. */
  readonly name: string;
  /** A scalar's name, a message's name, or for a map that of its values. */
  readonly type: string;
  readonly shape: 'single' | 'list' | 'map';
  /** A pointer: an encoded zero is a value. */
  readonly hasPresence: boolean;
};

export type Message = {
  readonly name: string;
  readonly byNumber: ReadonlyMap<number, MessageField>;
  /** By JSON name, with the fields of inlined messages. */
  readonly byName: ReadonlyMap<string, MessageField>;
  /** The types through which an inlined field comes in, by its JSON name. */
  readonly inlinedBy: ReadonlyMap<string, readonly string[]>;
};

const scalars = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double']);
const packages: ReadonlyMap<string, string> = new Map(
  protobufPackages
    .trim()
    .split('\n')
    .map((line) => line.split(' ') as [string, string]),
);
const known = new Map<string, Message | undefined>();

export function isScalarType(type: string): boolean {
  return scalars.has(type);
}

/** The message of a kind; undefined for a kind that has none. */
export function messageOfKind(apiVersion: string, kind: string): Message | undefined {
  const name = packages.get(apiVersion);
  return (name && findMessage(`${name}.${kind}`)) || findMessage(`meta/v1.${kind}`);
}

/** The message behind a named schema, e.g. `io.k8s.api.core.v1.Container`. */
export function messageOfSchema(schemaName: string): Message | undefined {
  const parts = schemaName.split('.');
  if (parts.length < 4 || parts[0] !== 'io' || parts[1] !== 'k8s') return undefined;
  const [group, version, type] = parts.slice(-3);
  return findMessage(`${group}/${version}.${type}`);
}

export function findMessage(name: string): Message | undefined {
  if (known.has(name)) return known.get(name);
  const start = protobufMessages.indexOf(`\n${name}: `);
  const message = start < 0 ? undefined : readMessage(name, protobufMessages.slice(start + name.length + 3));
  known.set(name, message);
  return message;
}

function readMessage(name: string, text: string): Message {
  const fields = text
    .slice(0, text.indexOf('\n'))
    .split('; ')
    .filter((part) => part !== '')
    .map(readField);
  const byName = new Map<string, MessageField>();
  const inlinedBy = new Map<string, readonly string[]>();
  for (const field of fields) {
    if (field.name !== '') {
      byName.set(field.name, field);
      continue;
    }
    const inlined = findMessage(field.type);
    const type = field.type.slice(field.type.lastIndexOf('.') + 1);
    for (const [inner, innerField] of inlined?.byName ?? []) {
      byName.set(inner, innerField);
      inlinedBy.set(inner, [type, ...(inlined?.inlinedBy.get(inner) ?? [])]);
    }
  }
  return { name, byNumber: new Map(fields.map((field) => [field.number, field])), byName, inlinedBy };
}

function readField(text: string): MessageField {
  const [number, name, written] = text.split(' ') as [string, string, string];
  const hasPresence = written.endsWith('?');
  const plain = hasPresence ? written.slice(0, -1) : written;
  const isMap = plain.startsWith('map<string,');
  const isList = plain.startsWith('[]');
  const type = isMap ? plain.slice('map<string,'.length, -1) : isList ? plain.slice(2) : plain;
  return {
    number: Number(number),
    name: name === '.' ? '' : name,
    type,
    shape: isMap ? 'map' : isList ? 'list' : 'single',
    hasPresence,
  };
}
