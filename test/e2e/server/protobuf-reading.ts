/** Answers in protobuf as a test reads them: envelopes, lists, and the frames of a watch, as the JSON objects they stand for. */
import type { Readable } from 'node:stream';
import type { JsonObject } from '../../../src/api/index.ts';
import { Reader } from '../../../src/api/protobuf.ts';
import { readEnvelope, readKind } from '../../../src/server/codec/protobuf/protobuf-reader.ts';
import type { Answer } from '../../../src/testing/index.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** The object or list in an envelope; zeros that Go writes by value are left out. */
function readProtobuf(bytes: Uint8Array): JsonObject {
  const { apiVersion, kind, raw } = readEnvelope(bytes);
  const object = readKind(raw, apiVersion, kind) ?? readList(raw, apiVersion, kind.replace(/List$/, ''));
  return { kind, apiVersion, ...object };
}

export function readAnswer({ headers, body }: Answer): JsonObject {
  if (headers['content-type'] !== PROTOBUF)
    throw new Error(`Cannot read ${headers['content-type']}: ${body.toString()}`);
  return readProtobuf(body);
}

function readList(raw: Uint8Array, apiVersion: string, itemKind: string): JsonObject {
  const list: { metadata: JsonObject; items: JsonObject[] } = { metadata: {}, items: [] };
  const reader = new Reader(raw);
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) list.metadata = readKind(reader.bytes(), '', 'ListMeta')!;
    else if (tag === 0x12) list.items.push(readKind(reader.bytes(), apiVersion, itemKind)!);
    else throw new Error(`Cannot read a list: field ${tag >>> 3}`);
  }
  return list;
}

export type ProtobufEvent = { readonly type: string; readonly object: JsonObject };

/** One event after another, wherever the stream was cut into chunks. */
export async function* readFrames(body: Readable): AsyncGenerator<ProtobufEvent, void, void> {
  let held = Buffer.alloc(0);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE()) {
      const end = 4 + held.readUInt32BE();
      yield readEvent(held.subarray(4, end));
      held = held.subarray(end);
    }
  }
  if (held.length > 0) throw new Error(`Cannot read a frame: the stream ends after ${held.length} bytes of it`);
}

function readEvent(bytes: Uint8Array): ProtobufEvent {
  const reader = new Reader(bytes);
  let type = '';
  let object: JsonObject = {};
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 0x0a) type = reader.string();
    else if (tag === 0x12) {
      const outer = reader.enter();
      if (reader.tag() !== 0x0a) throw new Error('Cannot read an event: its object is not in bytes');
      object = readProtobuf(reader.bytes());
      reader.leave(outer);
    }
  }
  return { type, object };
}
