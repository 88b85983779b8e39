/**
 * How events are put into bytes for a reader, as the watches see it; the forms there are stand in `encodings/`. Two
 * readers whose encodings have the same `id` get the very same bytes.
 */

import { KeptFrames } from './objects/kept-frames.ts';
import type { ObjectEvent } from './objects/object-event.ts';
import type { EventType } from './objects/selection.ts';
import type { StoredObject } from './objects/stored-object.ts';

export interface EventEncoding {
  readonly id: string;
  /** Of the stream of its events. */
  readonly contentType: string;
  /** True: made for one reader only, so that keeping its frames would serve nobody. */
  readonly isPrivate?: boolean;
  /** True: nothing but the metadata of objects is shown. */
  readonly isMetadataOnly?: boolean;
  /** One event, complete with what ends or begins it. */
  frame(type: EventType, object: StoredObject): Buffer;
  /** How to put many events together without a buffer for each: for what is sent to one reader only. */
  readonly direct?: DirectFrames;
  bookmark(revision: number, isInitialEnd: boolean): Buffer;
  /** The event that tells why the stream ends, from whatever was thrown. */
  error(err: unknown): Buffer;
}

/** The same bytes as those of `frame`, put where they are wanted. */
export interface DirectFrames {
  bytesOf(type: EventType, object: StoredObject): number;
  /** Answers where it ends. */
  write(type: EventType, object: StoredObject, target: Buffer, at: number): number;
}

const keptFrames = new KeptFrames();

/** The frame of an event, made once per encoding and type for all who want it at about the same time. */
export function frameOf(event: ObjectEvent, type: EventType, encoding: EventEncoding): Buffer {
  const object = type === 'DELETED' ? event.gone : event.current!;
  if (encoding.isPrivate) return encoding.frame(type, object);
  const id = `${type} ${encoding.id}`;
  let frame = event.frames?.get(id);
  if (!frame) {
    frame = encoding.frame(type, object);
    event.frames ??= new Map();
    keptFrames.keep(event.frames, id, frame);
  }
  return frame;
}
