/**
 * How objects and events are put into bytes for a reader: plain JSON here; tables and metadata elsewhere. Two readers
 * whose encodings have the same `id` get the very same bytes.
 */
import type { JsonObject, JsonValue, KubeObject } from '../../api/index.ts';
import type { Schema } from '../schema/schema.ts';
import type { ObjectCodec } from './object-codec.ts';
import type { ObjectEvent } from './object-event.ts';
import type { EventType } from './selection.ts';
import type { StoredObject } from './stored-object.ts';

export interface EventEncoding {
  readonly id: string;
  /** True: made for one reader only, so that keeping its frames would serve nobody. */
  readonly isPrivate?: boolean;
  /** One event, complete with its line feed. */
  frame(type: EventType, object: StoredObject): Buffer;
  /** How to put many events together without a buffer for each: for what is sent to one reader only. */
  readonly direct?: DirectFrames;
  bookmark(revision: number, isInitialEnd: boolean): Buffer;
}

/** The same bytes as those of `frame`, put where they are wanted. */
export interface DirectFrames {
  bytesOf(type: EventType, object: StoredObject): number;
  /** Answers where it ends. */
  write(type: EventType, object: StoredObject, target: Buffer, at: number): number;
}

/** The frame of an event, made at most once per encoding and type. */
export function frameOf(event: ObjectEvent, type: EventType, encoding: EventEncoding): Buffer {
  const object = type === 'DELETED' ? event.gone : event.current!;
  if (encoding.isPrivate) return encoding.frame(type, object);
  const id = `${type} ${encoding.id}`;
  let frame = event.frames.get(id);
  if (!frame) {
    frame = encoding.frame(type, object);
    event.frames.set(id, frame);
  }
  return frame;
}

const END = Buffer.from('}\n');

export class JsonEncoding implements EventEncoding, DirectFrames {
  readonly id: string = 'json';
  readonly direct: DirectFrames = this;
  readonly #codec: ObjectCodec;
  readonly #heads: Readonly<Record<EventType, Buffer>>;

  constructor(codec: ObjectCodec) {
    this.#codec = codec;
    const head = (type: EventType) => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), codec.head]);
    this.#heads = { ADDED: head('ADDED'), MODIFIED: head('MODIFIED'), DELETED: head('DELETED') };
  }

  frame(type: EventType, object: StoredObject): Buffer {
    return Buffer.concat([this.#heads[type], object.bytes.subarray(this.#codec.skip), END]);
  }

  bytesOf(type: EventType, { bytes }: StoredObject): number {
    return this.#heads[type].length + bytes.length - this.#codec.skip + END.length;
  }

  write(type: EventType, { bytes }: StoredObject, target: Buffer, at: number): number {
    const head = this.#heads[type];
    // The head comes second: it is longer than what is to be left out, and so covers it.
    target.set(bytes, at + head.length - this.#codec.skip);
    target.set(head, at);
    const end = at + head.length + bytes.length - this.#codec.skip;
    target.set(END, end);
    return end + END.length;
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return Buffer.from(
      `{"type":"BOOKMARK","object":${JSON.stringify(bookmarkObject(this.#codec, revision, isInitialEnd))}}\n`,
    );
  }
}

/** An object of which only the version means something; the rest is what an empty one of its kind has. */
export function bookmarkObject(codec: ObjectCodec, revision: number, isInitialEnd: boolean): KubeObject {
  const annotations = isInitialEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
  if (codec.resource.isCustom) return { ...codec.type, metadata };
  const { schema, subresources } = codec.resource;
  const { metadata: _metadata, kind: _kind, apiVersion: _version, ...zero } = zeroFields(schema);
  // Kinds with a scale count in a plain number inside the reference server, and a plain number is never left out.
  if (subresources.some(({ name }) => name === 'scale')) zero.spec = { replicas: 0, ...(zero.spec as JsonObject) };
  return { ...codec.type, metadata, ...zero };
}

/** The fields that the reference server writes even if nothing is in them: required ones, and structures. */
function zeroFields(schema: Schema): JsonObject {
  const zero: JsonObject = {};
  for (const [name, field] of schema.properties ?? []) {
    const isStructure = field.properties !== undefined && field.default !== undefined;
    if (isStructure) zero[name] = zeroFields(field);
    else if (schema.required?.includes(name)) zero[name] = field.default ?? zeroOf(field);
  }
  return zero;
}

function zeroOf({ type }: Schema): JsonValue {
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'string') return '';
  return type === 'boolean' ? false : null;
}
