/** Which form the events of a watch have, from what its client accepts. */
import type { KubeObject } from '../../api/index.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { View } from '../storage/view.ts';
import { partialObject } from '../tables/partial-metadata.ts';
import { parseIncludeObject } from '../tables/table.ts';
import { JsonEvents } from './json-events.ts';
import type { Format } from './negotiation.ts';
import { ObjectEvents } from './object-events.ts';
import { ProtobufEvents } from './protobuf-events.ts';
import { TableEvents } from './table-events.ts';

/** One for all watches of a resource: it is the form of nearly all. */
const jsonEvents = new WeakMap<View, JsonEvents>();

export function eventEncodingFor(view: View, format: Format, query: URLSearchParams): EventEncoding {
  const { groupVersion } = view.resource;
  const { mediaType, shape, version } = format;
  if (mediaType === 'protobuf') return new ProtobufEvents(view, format);
  switch (shape) {
    case 'object': {
      if (!view.isStorageForm) return new ObjectEvents(view, `object ${groupVersion}`, (object) => object);
      let encoding = jsonEvents.get(view);
      if (!encoding) {
        encoding = new JsonEvents(view.storage.codec);
        jsonEvents.set(view, encoding);
      }
      return encoding;
    }
    case 'Table':
      return new TableEvents(view, parseIncludeObject(query.get('includeObject')), version);
    default: {
      const partial = (object: KubeObject) => partialObject(object, version);
      return new ObjectEvents(view, `partial ${version} ${groupVersion}`, partial);
    }
  }
}
