/**
 * Events in protobuf, of whole objects or of their metadata: the length of what follows in four bytes, then a WatchEvent
 * whose object is in an envelope of its own. Frames are shared by all watches in the same form, as those in JSON are.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { Writer } from '../../api/protobuf.ts';
import { encodeProtobuf } from '../codec/index.ts';
import { asStatusError } from '../request/status-body.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { EventType } from '../storage/objects/selection.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { partialObject } from '../tables/partial-metadata.ts';
import { bookmarkFor } from './bookmark-object.ts';
import { type Format, mediaTypeNames } from './negotiation.ts';

const PROTOBUF_EVENTS = `${mediaTypeNames.protobuf};stream=watch`;
const LENGTH_BYTES = 4;

export class ProtobufEvents implements EventEncoding {
  readonly id: string;
  readonly contentType: string = PROTOBUF_EVENTS;
  readonly isMetadataOnly: boolean;
  readonly #storage: ResourceStorage;
  readonly #show: (object: KubeObject) => object;

  constructor(storage: ResourceStorage, { shape, version }: Format) {
    const { groupVersion } = storage.resource;
    this.#storage = storage;
    const isWhole = shape === 'object';
    this.isMetadataOnly = !isWhole;
    this.id = isWhole ? `protobuf ${groupVersion}` : `protobuf partial ${version} ${groupVersion}`;
    this.#show = isWhole ? (object) => object : (object) => partialObject(object, version);
  }

  frame(type: EventType, stored: StoredObject): Buffer {
    return frameOf(type, this.#show(this.#storage.toObject(stored)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return frameOf('BOOKMARK', this.#show(bookmarkFor(this.#storage, revision, isInitialEnd)));
  }

  error(err: unknown): Buffer {
    return frameOf('ERROR', asStatusError(err).status);
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
