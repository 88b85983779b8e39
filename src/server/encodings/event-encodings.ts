/** Which form the events of a watch have, from what its client accepts. */
import type { KubeObject } from '../../api/index.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { partialObject } from '../tables/partial-metadata.ts';
import { parseIncludeObject } from '../tables/table.ts';
import { JsonEvents } from './json-events.ts';
import { MetadataEvents } from './metadata-events.ts';
import type { Format } from './negotiation.ts';
import { ObjectEvents } from './object-events.ts';
import { ProtobufEvents } from './protobuf-events.ts';
import { TableEvents } from './table-events.ts';

/** One for all watches of a resource in the same form. */
const shared = new WeakMap<ResourceStorage, Map<string, EventEncoding>>();

export function eventEncodingFor(storage: ResourceStorage, format: Format, query: URLSearchParams): EventEncoding {
  const { mediaType, shape, version } = format;
  if (mediaType !== 'protobuf' && shape === 'Table')
    return new TableEvents(storage, parseIncludeObject(query.get('includeObject')), version);
  let forms = shared.get(storage);
  if (!forms) {
    forms = new Map();
    shared.set(storage, forms);
  }
  const key = `${mediaType} ${shape} ${version}`;
  let encoding = forms.get(key);
  if (!encoding) {
    encoding = sharedEncoding(storage, format);
    forms.set(key, encoding);
  }
  return encoding;
}

function sharedEncoding(storage: ResourceStorage, format: Format): EventEncoding {
  const { groupVersion } = storage.resource;
  const { mediaType, shape, version } = format;
  if (mediaType === 'protobuf') return new ProtobufEvents(storage, format);
  if (shape !== 'object') {
    if (storage.isStorageForm) return new MetadataEvents(storage, version);
    const partial = (object: KubeObject) => partialObject(object, version);
    return new ObjectEvents(storage, `partial ${version} ${groupVersion}`, partial, true);
  }
  return storage.isStorageForm
    ? new JsonEvents(storage.objects.codec)
    : new ObjectEvents(storage, `object ${groupVersion}`, (object) => object);
}
