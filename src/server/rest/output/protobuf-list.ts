/**
 * Lists in protobuf. Single objects need nothing of their own: `sendJson` encodes them.
 *
 * A list says its length before its items, so all items are encoded before the first byte goes out, a stretch at a
 * time so that others get their turns.
 */
import type { JsonObject } from '../../../api/index.ts';
import { encodeItem, listParts } from '../../codec/index.ts';
import { type Format, mediaTypeNames } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import type { ListMeta } from '../../tables/partial-metadata.ts';

/** A list of objects, or of their metadata. */
export async function sendProtobufList(
  context: RequestContext,
  { shape, version }: Format,
  storage: ResourceStorage,
  items: Iterable<StoredObject>,
  meta: ListMeta,
): Promise<void> {
  const { groupVersion, listKind } = storage.resource;
  const [apiVersion, kind] =
    shape === 'object' ? [groupVersion, listKind] : [`meta.k8s.io/${version}`, 'PartialObjectMetadataList'];
  const encoded: Buffer[] = [];
  const slices = new WorkSlices(context.signal);
  for (const item of items) {
    if (slices.isOver) await slices.pause();
    encoded.push(encodeItem(storage.toObject(item) as unknown as JsonObject, apiVersion, kind));
  }
  const parts = listParts(apiVersion, kind, meta, encoded);
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return context.sendParts(200, mediaTypeNames.protobuf, parts, bytes);
}
