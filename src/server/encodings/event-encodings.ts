/** Which form the events of a watch have, from what its client accepts. */
import type { KubeObject } from '../../api/index.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { partialObject } from '../tables/partial-metadata.ts';
import { parseIncludeObject } from '../tables/table.ts';
import { JsonEvents } from './json-events.ts';
import type { Format } from './negotiation.ts';
import { ObjectEvents } from './object-events.ts';
import { ProtobufEvents } from './protobuf-events.ts';
import { TableEvents } from './table-events.ts';

/** One for all watches of a resource: it is the form of nearly all. */
const jsonEvents = new WeakMap<ResourceStorage, JsonEvents>();

export function eventEncodingFor(storage: ResourceStorage, format: Format, query: URLSearchParams): EventEncoding {
  const { groupVersion } = storage.resource;
  const { mediaType, shape, version } = format;
  if (mediaType === 'protobuf') return new ProtobufEvents(storage, format);
  switch (shape) {
    case 'object': {
      if (!storage.isStorageForm) return new ObjectEvents(storage, `object ${groupVersion}`, (object) => object);
      let encoding = jsonEvents.get(storage);
      if (!encoding) {
        encoding = new JsonEvents(storage.objects.codec);
        jsonEvents.set(storage, encoding);
      }
      return encoding;
    }
    case 'Table':
      return new TableEvents(storage, parseIncludeObject(query.get('includeObject')), version);
    default: {
      const partial = (object: KubeObject) => partialObject(object, version);
      return new ObjectEvents(storage, `partial ${version} ${groupVersion}`, partial, true);
    }
  }
}
