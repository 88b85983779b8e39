/**
 * Lists and watch events in protobuf. Single objects need nothing of their own: `sendJson` encodes them.
 *
 * A list says its length before its items, so all items are encoded before the first byte goes out, a stretch at a
 * time so that others get their turns. An event is the length of what follows in four bytes, then a WatchEvent whose
 * object is in an envelope of its own; frames are shared by all watches in the same form, as those in JSON are.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject, KubeObject, Status } from '../../api/index.ts';
import { Writer } from '../../api/protobuf.ts';
import { encodeItem, encodeProtobuf, listParts } from '../codec/index.ts';
import type { Exchange } from '../request/request-context.ts';
import { bookmarkObject, type EventEncoding } from '../storage/event-encoding.ts';
import type { View } from '../storage/resources.ts';
import type { EventType } from '../storage/selection.ts';

import type { StoredObject } from '../storage/stored-object.ts';
import { type ListMeta, partialObject } from '../tables/partial-metadata.ts';
import { type Format, mediaTypeNames } from './negotiation.ts';

/** What a stream of events is called. */
export const PROTOBUF_EVENTS: string = `${mediaTypeNames.protobuf};stream=watch`;

const STRETCH_ITEMS = 100;
const LENGTH_BYTES = 4;

/** A list of objects, or of their metadata. */
export async function sendProtobufList(
  exchange: Exchange,
  { shape, version }: Format,
  view: View,
  items: Iterable<StoredObject>,
  meta: ListMeta,
): Promise<void> {
  const { groupVersion, listKind } = view.resource;
  const [apiVersion, kind] =
    shape === 'object' ? [groupVersion, listKind] : [`meta.k8s.io/${version}`, 'PartialObjectMetadataList'];
  const encoded: Buffer[] = [];
  for (const item of items) {
    if (encoded.length % STRETCH_ITEMS === STRETCH_ITEMS - 1) {
      await nextTurn();
      exchange.signal.throwIfAborted();
    }
    encoded.push(encodeItem(view.toObject(item) as unknown as JsonObject, apiVersion, kind));
  }
  const parts = listParts(apiVersion, kind, meta, encoded);
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return exchange.sendParts(200, mediaTypeNames.protobuf, parts, bytes);
}

export class ProtobufEncoding implements EventEncoding {
  readonly id: string;
  readonly #view: View;
  readonly #show: (object: KubeObject) => object;

  constructor(view: View, { shape, version }: Format) {
    const { groupVersion } = view.resource;
    this.#view = view;
    const isWhole = shape === 'object';
    this.id = isWhole ? `protobuf ${groupVersion}` : `protobuf partial ${version} ${groupVersion}`;
    this.#show = isWhole ? (object) => object : (object) => partialObject(object, version);
  }

  frame(type: EventType, cached: StoredObject): Buffer {
    return frameOf(type, this.#show(this.#view.toObject(cached)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    const { resource, cache } = this.#view;
    const bookmark = bookmarkObject(cache.codec, revision, isInitialEnd);
    return frameOf('BOOKMARK', this.#show({ ...bookmark, kind: resource.kind, apiVersion: resource.groupVersion }));
  }

  error(status: Status): Buffer {
    return frameOf('ERROR', status);
  }
}

function frameOf(type: string, object: object): Buffer {
  const raw = encodeProtobuf(object as JsonObject);
  const event = new Writer(raw.length + 64)
    .string(1, type)
    .message(2, (extension) => extension.bytes(1, raw))
    .finish();
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + event.length);
  frame.writeUInt32BE(event.length);
  frame.set(event, LENGTH_BYTES);
  return frame;
}
