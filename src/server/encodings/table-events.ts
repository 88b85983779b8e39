/** Events whose objects are tables. Columns are named in the first event of each stream only, so no two streams share one. */
import { type KubeObject, wallNow } from '../../api/index.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { EventType } from '../storage/objects/selection.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import type { MetaVersion } from '../tables/partial-metadata.ts';
import { bookmarkTable, type IncludeObject, tableFor } from '../tables/table.ts';
import { bookmarkFor } from './bookmark-object.ts';
import { errorLine, eventLine, JSON_EVENTS } from './event-line.ts';

export class TableEvents implements EventEncoding {
  readonly contentType: string = JSON_EVENTS;
  readonly isPrivate = true;
  static #count = 0;
  readonly id: string = `table ${TableEvents.#count++}`;
  readonly #storage: ResourceStorage;
  readonly #includeObject: IncludeObject;
  readonly #version: MetaVersion;
  #isFirst = true;

  constructor(storage: ResourceStorage, includeObject: IncludeObject, version: MetaVersion) {
    this.#storage = storage;
    this.#includeObject = includeObject;
    this.#version = version;
  }

  frame(type: EventType, stored: StoredObject): Buffer {
    const object = this.#storage.toObject(stored);
    return eventLine(type, tableFor(this.#storage.resource, [object], this.#options(object)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    const object = bookmarkFor(this.#storage, revision, isInitialEnd);
    return eventLine('BOOKMARK', bookmarkTable(this.#storage.resource, object, this.#options(object)));
  }

  error(err: unknown): Buffer {
    return errorLine(err);
  }

  #options(object: KubeObject) {
    const hasColumns = this.#isFirst;
    this.#isFirst = false;
    const listMeta = { resourceVersion: object.metadata.resourceVersion ?? '' };
    const printerColumns = this.#storage.resource.custom?.printerColumns ?? [];
    const shape = { includeObject: this.#includeObject, version: this.#version, hasColumns, printerColumns };
    return { ...shape, now: wallNow(), listMeta };
  }
}
