/**
 * Objects and lists on their way out, in the form the client asked for. What is shown as it is stored goes out as the
 * bytes of the cache; everything else is put together anew.
 */
import { type JsonObject, type KubeObject, type StatusError, shapeNotAcceptable, wallNow } from '../../../api/index.ts';
import {
  encodeObject,
  encodeProtobuf,
  encodeYaml,
  goJson,
  jsonListEncoder,
  yamlListEncoder,
} from '../../codec/index.ts';
import { type Format, mediaTypeNames, statusMediaType } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { Resource } from '../../registry/resource.ts';
import type { EncodedStatus, RequestContext } from '../../request/request-context.ts';
import { statusBody, wantsPretty } from '../../request/status-body.ts';
import { piecesOf, SLAB_BYTES } from '../../storage/objects/slab.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { emptyPartialList, type ListMeta, partialObject } from '../../tables/partial-metadata.ts';
import { parseIncludeObject, type TableOptions, type TableResource, tableFor, tableParts } from '../../tables/table.ts';
import { sendProtobufList } from './protobuf-list.ts';

const JSON_TYPE = 'application/json';
const LINE_END = Buffer.from('\n');
const LIST_END = Buffer.from(']}\n');

export function sendCached(
  context: RequestContext,
  status: number,
  format: Format,
  storage: ResourceStorage,
  cached: StoredObject,
): void {
  const { codec, bytes } = cached;
  if (!isPlain(context, format) || !storage.isStorageForm)
    sendObject(context, status, format, storage, storage.toObject(cached));
  else context.send(status, JSON_TYPE, [codec.head, bytes.subarray(codec.skip), LINE_END]);
}

/** Any single object of a resource, also one that is not stored. */
export function sendObject(
  context: RequestContext,
  status: number,
  format: Format,
  storage: ResourceStorage,
  object: KubeObject,
): void {
  const { isCustom } = storage.resource;
  sendJson(context, status, format, shaped(context, format, storage, object), isCustom && format.shape === 'object');
}

/** The scale of an object. Of a custom one a table has the columns of its kind, though what is asked is the scale. */
export function sendScale(context: RequestContext, format: Format, storage: ResourceStorage, scale: KubeObject): void {
  sendJson(
    context,
    200,
    format,
    shaped(context, format, storage, scale, storage.resource.isCustom ? undefined : SCALES),
  );
}

const SCALES = { group: 'autoscaling', plural: 'scales', isCustom: false, version: 'autoscaling', kind: 'Scale' };

function shaped(
  context: RequestContext,
  format: Format,
  storage: ResourceStorage,
  object: KubeObject,
  resource: TableResource & Pick<Resource, 'version' | 'kind'> = storage.resource,
): JsonObject {
  switch (format.shape) {
    case 'PartialObjectMetadataList':
      throw shapeNotAcceptable(
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goPackage(resource.version)}.${resource.kind})`,
      );
    case 'PartialObjectMetadata':
      return partialObject(object, format.version) as unknown as JsonObject;
    case 'Table': {
      const listMeta = { resourceVersion: object.metadata.resourceVersion ?? '' };
      return tableFor(resource, [object], tableOptions(context, format, storage, listMeta)) as unknown as JsonObject;
    }
    case 'object':
      return object as unknown as JsonObject;
  }
}

/** `bytes`: of all items together, where that is known: to add them up takes a look at each. */
export function sendList(
  context: RequestContext,
  format: Format,
  storage: ResourceStorage,
  items: readonly StoredObject[],
  meta: ListMeta,
  bytes?: number,
): void | Promise<void> {
  const { resource } = storage;
  if (isPlain(context, format) && storage.isStorageForm)
    return sendItems(context, storage, items, meta, bytes ?? bytesOf(items));
  if (format.mediaType === 'protobuf' && format.shape !== 'PartialObjectMetadata')
    return sendProtobufList(context, format, storage, items, meta);
  switch (format.shape) {
    case 'PartialObjectMetadata':
      throw shapeNotAcceptable(
        `you requested PartialObjectMetadata, but the requested object is a list (*${internalPackage(resource.group)}.${resource.listKind})`,
      );
    case 'PartialObjectMetadataList': {
      const list = emptyPartialList(meta, format.version) as unknown as JsonObject;
      const show = (object: KubeObject) => partialObject(object, format.version) as unknown as JsonObject;
      return sendShaped(context, format, storage, items, { document: list, name: 'items', show });
    }
    case 'Table': {
      const { table, rowOf } = tableParts(resource, tableOptions(context, format, storage, meta));
      const show = rowOf as unknown as (object: KubeObject) => JsonObject;
      return sendShaped(context, format, storage, items, {
        document: table as unknown as JsonObject,
        name: 'rows',
        show,
      });
    }
    case 'object':
      return sendShaped(context, format, storage, items, listShape(storage, meta));
  }
}

/** A document with a list that is still empty, and what stands in it for each object. */
type ListShape = {
  readonly document: JsonObject;
  readonly name: string;
  readonly show: (object: KubeObject) => JsonObject;
  readonly isCustom?: boolean;
};

/** An object at a time, so that others get their turns. */
async function sendShaped(
  context: RequestContext,
  { mediaType }: Format,
  storage: ResourceStorage,
  items: readonly StoredObject[],
  { document, name, show, isCustom = false }: ListShape,
): Promise<void> {
  const isPretty = wantsPretty(context.query, context.headers);
  const isYaml = mediaType === 'yaml';
  const encoder = isYaml ? yamlListEncoder(document, name) : jsonListEncoder(document, name, { isCustom, isPretty });
  const parts = [encoder.head];
  const slices = new WorkSlices(context.signal);
  for (const item of items) {
    parts.push(encoder.element(show(storage.toObject(item))));
    if (slices.isOver) await slices.pause();
  }
  parts.push(encoder.tail());
  context.send(200, mediaTypeNames[mediaType], Buffer.concat(parts));
}

/** A JSON document as protobuf, as YAML, indented, or as it is. */
export function sendJson(
  context: RequestContext,
  status: number,
  format: Format,
  body: JsonObject,
  isCustom = false,
): void {
  const { mediaType } = format;
  if (mediaType !== 'json') {
    context.send(status, mediaTypeNames[mediaType], mediaType === 'yaml' ? encodeYaml(body) : encodeProtobuf(body));
    return;
  }
  const isPretty = wantsPretty(context.query, context.headers);
  context.send(status, JSON_TYPE, encodeObject(body, { isCustom, isPretty }));
}

/** A refusal, in what the client would rather have been answered in. */
export function encodeStatus({ headers, query }: RequestContext, { status }: StatusError): EncodedStatus {
  const mediaType = statusMediaType(headers);
  if (mediaType === 'json') return { contentType: JSON_TYPE, body: statusBody(status, wantsPretty(query, headers)) };
  const document = status as unknown as JsonObject;
  const body = mediaType === 'yaml' ? encodeYaml(document) : encodeProtobuf(document);
  return { contentType: mediaTypeNames[mediaType], body };
}

/** The list as a gather of the bytes of its items. */
function sendItems(
  context: RequestContext,
  storage: ResourceStorage,
  items: readonly StoredObject[],
  meta: ListMeta,
  itemBytes: number,
): void | Promise<void> {
  const { listKind: kind, groupVersion: apiVersion, isCustom } = storage.resource;
  const list = isCustom
    ? { apiVersion, kind, metadata: { continue: '', ...meta } }
    : { kind, apiVersion, metadata: meta };
  const head = Buffer.from(`${goJson(list).slice(0, -1)},"items":[`);
  const bytes = head.length + itemBytes - (items.length > 0 ? 1 : 0) + LIST_END.length;
  const parts = bytes <= SLAB_BYTES ? partsOneByOne(head, items) : partsSideBySide(head, items);
  return context.sendParts(200, JSON_TYPE, parts, bytes);
}

function bytesOf(items: readonly StoredObject[]): number {
  let sum = 0;
  for (const { bytes } of items) sum += bytes.length;
  return sum;
}

/** Of a list that is copied together on its way: to look for what lies side by side takes longer than to copy it one by one. */
function partsOneByOne(head: Buffer, items: readonly StoredObject[]): readonly Buffer[] {
  const parts = [head];
  for (const { bytes } of items) parts.push(bytes);
  if (items.length > 0) parts[1] = withoutComma(parts[1]!);
  parts.push(LIST_END);
  return parts;
}

function* partsSideBySide(head: Buffer, items: readonly StoredObject[]): Iterable<Buffer> {
  yield head;
  let isFirst = true;
  for (const piece of piecesOf(items)) {
    yield isFirst ? withoutComma(piece) : piece;
    isFirst = false;
  }
  yield LIST_END;
}

/** Each object begins with the comma that joins it to the one before. */
function withoutComma(bytes: Buffer): Buffer {
  return bytes.subarray(1);
}

function listShape({ resource }: ResourceStorage, meta: ListMeta): ListShape {
  const { listKind, groupVersion, isCustom } = resource;
  const metadata = isCustom ? { continue: '', ...meta } : meta;
  return {
    document: { kind: listKind, apiVersion: groupVersion, metadata, items: [] },
    name: 'items',
    show: (object) => {
      if (isCustom) return object as unknown as JsonObject;
      const { kind: _kind, apiVersion: _version, ...item } = object;
      return item as unknown as JsonObject;
    },
    isCustom,
  };
}

function tableOptions(
  context: RequestContext,
  { version }: Format,
  { resource }: ResourceStorage,
  listMeta: ListMeta,
): TableOptions {
  const includeObject = parseIncludeObject(context.query.get('includeObject'));
  const printerColumns = resource.custom?.printerColumns ?? [];
  return { includeObject, now: wallNow(), listMeta, version, printerColumns };
}

function isPlain(context: RequestContext, format: Format): boolean {
  return format.shape === 'object' && format.mediaType === 'json' && !wantsPretty(context.query, context.headers);
}

/** How kube-apiserver's own types are called, which its messages show. */
function internalPackage(group: string): string {
  return group === '' ? 'core' : group.split('.')[0]!;
}

function goPackage(version: string): string {
  return version;
}
