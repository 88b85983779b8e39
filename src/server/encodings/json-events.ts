/**
 * Events in JSON, of objects that are shown as they are stored: the bytes of the object between a head that is the same
 * for all and an end. Nothing is parsed.
 */
import type { DirectFrames, EventEncoding } from '../storage/event-encoding.ts';
import type { ObjectCodec } from '../storage/objects/object-codec.ts';
import type { EventType } from '../storage/objects/selection.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import { bookmarkObject } from './bookmark-object.ts';
import { errorLine, JSON_EVENTS } from './event-line.ts';

const END = Buffer.from('}\n');

export class JsonEvents implements EventEncoding, DirectFrames {
  readonly id: string = 'json';
  readonly contentType: string = JSON_EVENTS;
  readonly direct: DirectFrames = this;
  readonly #codec: ObjectCodec;
  readonly #heads: Readonly<Record<EventType, Buffer>>;
  /** Watches that wait are told the same revision, one after the other. */
  #lastBookmark: { readonly revision: number; readonly isInitialEnd: boolean; readonly frame: Buffer } | undefined;

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
    const last = this.#lastBookmark;
    if (last?.revision === revision && last.isInitialEnd === isInitialEnd) return last.frame;
    const object = JSON.stringify(bookmarkObject(this.#codec, revision, isInitialEnd));
    const frame = Buffer.from(`{"type":"BOOKMARK","object":${object}}\n`);
    this.#lastBookmark = { revision, isInitialEnd, frame };
    return frame;
  }

  error(err: unknown): Buffer {
    return errorLine(err);
  }
}
