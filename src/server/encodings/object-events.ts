/** Events in JSON whose objects are put together from the parsed object: another version of it, or only its metadata. */
import type { KubeObject } from '../../api/index.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { EventType } from '../storage/objects/selection.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { bookmarkFor } from './bookmark-object.ts';
import { errorLine, eventLine, JSON_EVENTS } from './event-line.ts';

export class ObjectEvents implements EventEncoding {
  readonly id: string;
  readonly contentType: string = JSON_EVENTS;
  readonly isMetadataOnly: boolean;
  readonly #storage: ResourceStorage;
  readonly #show: (object: KubeObject) => object;

  /** `id`: the same for all that show the same. */
  constructor(storage: ResourceStorage, id: string, show: (object: KubeObject) => object, isMetadataOnly = false) {
    this.id = id;
    this.isMetadataOnly = isMetadataOnly;
    this.#storage = storage;
    this.#show = show;
  }

  frame(type: EventType, stored: StoredObject): Buffer {
    return eventLine(type, this.#show(this.#storage.toObject(stored)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return eventLine('BOOKMARK', this.#show(bookmarkFor(this.#storage, revision, isInitialEnd)));
  }

  error(err: unknown): Buffer {
    return errorLine(err);
  }
}
