/**
 * How objects and events are put into bytes for a reader: plain JSON here; tables and metadata elsewhere. Two readers
 * whose encodings have the same `id` get the very same bytes.
 */
import type { CachedObject, ObjectForm } from './cached-object.ts';
import type { CacheEvent } from './event-window.ts';
import type { EventType } from './selection.ts';

export interface EventEncoding {
  readonly id: string;
  /** One event, complete with its line feed. */
  frame(type: EventType, object: CachedObject): Buffer;
  bookmark(revision: number, isInitialEnd: boolean): Buffer;
}

/** The frame of an event, made at most once per encoding and type. */
export function frameOf(event: CacheEvent, type: EventType, encoding: EventEncoding): Buffer {
  const id = `${type} ${encoding.id}`;
  let frame = event.frames.get(id);
  if (!frame) {
    frame = encoding.frame(type, type === 'DELETED' ? event.gone : event.current!);
    event.frames.set(id, frame);
  }
  return frame;
}

const END = Buffer.from('}\n');

export class JsonEncoding implements EventEncoding {
  readonly id = 'json';
  readonly #form: ObjectForm;
  readonly #heads: Readonly<Record<EventType, Buffer>>;

  constructor(form: ObjectForm) {
    this.#form = form;
    const head = (type: EventType) => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), form.head]);
    this.#heads = { ADDED: head('ADDED'), MODIFIED: head('MODIFIED'), DELETED: head('DELETED') };
  }

  frame(type: EventType, object: CachedObject): Buffer {
    return Buffer.concat([this.#heads[type], object.bytes.subarray(this.#form.skip), END]);
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return Buffer.from(
      `{"type":"BOOKMARK","object":${JSON.stringify(bookmarkObject(this.#form, revision, isInitialEnd))}}\n`,
    );
  }
}

export function bookmarkObject(form: ObjectForm, revision: number, isInitialEnd: boolean) {
  const annotations = isInitialEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
  return { ...form.type, metadata: { resourceVersion: String(revision), ...(annotations && { annotations }) } };
}
