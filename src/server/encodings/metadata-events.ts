/**
 * Events in JSON that show nothing of an object but its metadata: its bytes, as they are stored, between a head that is the
 * same for all and an end. Nothing is parsed. For objects that are shown in the version in which they are stored.
 */
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { EventType } from '../storage/objects/selection.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { type MetaVersion, partialObject } from '../tables/partial-metadata.ts';
import { bookmarkFor } from './bookmark-object.ts';
import { errorLine, eventLine, JSON_EVENTS } from './event-line.ts';

const END = Buffer.from('}}\n');

export class MetadataEvents implements EventEncoding {
  readonly id: string;
  readonly contentType: string = JSON_EVENTS;
  readonly isMetadataOnly = true;
  readonly #storage: ResourceStorage;
  readonly #version: MetaVersion;
  readonly #heads: Readonly<Record<EventType, Buffer>>;

  constructor(storage: ResourceStorage, version: MetaVersion) {
    this.id = `partial ${version} ${storage.resource.groupVersion}`;
    this.#storage = storage;
    this.#version = version;
    const kind = `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}"`;
    const head = (type: EventType) => Buffer.from(`{"type":"${type}","object":{${kind},"metadata":`);
    this.#heads = { ADDED: head('ADDED'), MODIFIED: head('MODIFIED'), DELETED: head('DELETED') };
  }

  frame(type: EventType, stored: StoredObject): Buffer {
    return Buffer.concat([this.#heads[type], stored.metadataBytes(), END]);
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return eventLine('BOOKMARK', partialObject(bookmarkFor(this.#storage, revision, isInitialEnd), this.#version));
  }

  error(err: unknown): Buffer {
    return errorLine(err);
  }
}
