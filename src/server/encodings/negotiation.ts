/**
 * What a client wants to be answered in, from its Accept header: a media type, and a shape (the object itself, a Table,
 * metadata only). Clauses are tried in the order of their weight, then of appearance; the first that can be served
 * wins, and one with an unknown shape is passed over.
 *
 * Protobuf is for types that have a field table: custom objects and Tables have none, metadata and a Status always do. A
 * Table is for what can be read: the answer to a review has no columns.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { notAcceptable, routeNotAcceptable } from '../../api/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { MetaVersion } from '../tables/partial-metadata.ts';

export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export type MediaType = 'json' | 'yaml' | 'protobuf';

export type Format = { readonly mediaType: MediaType; readonly shape: Shape; readonly version: MetaVersion };

export const plainFormat: Format = { mediaType: 'json', shape: 'object', version: 'v1' };

export const mediaTypeNames: Readonly<Record<MediaType, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

const WHOLE = Object.values(mediaTypeNames);
const STREAMED = [`${mediaTypeNames.json};stream=watch`, `${mediaTypeNames.protobuf};stream=watch`];
const ANY = '*/*';

const mediaTypes: ReadonlyMap<string, MediaType> = new Map<string, MediaType>([
  [mediaTypeNames.json, 'json'],
  [mediaTypeNames.yaml, 'yaml'],
  [mediaTypeNames.protobuf, 'protobuf'],
  ['application/*', 'json'],
  [ANY, 'json'],
]);

type Clause = { readonly type: string; readonly parameters: ReadonlyMap<string, string>; readonly weight: number };

/** `isCollection`: the path also takes watches, which a refusal then lists. */
export function negotiate(
  { accept }: IncomingHttpHeaders,
  { isCustom, verbs }: Pick<Resource, 'isCustom' | 'verbs'>,
  isWatch = false,
  isCollection: boolean = isWatch,
): Format {
  if (!accept || accept === ANY || accept === mediaTypeNames.json) return plainFormat;
  const clauses = parseAccept(accept);
  if (!isCustom && !clauses.some(isRouted)) throw routeNotAcceptable(isCollection ? [...WHOLE, ...STREAMED] : WHOLE);
  for (const clause of clauses) {
    const format = formatOf(clause, isCustom);
    if (!format || (format.shape === 'Table' && !verbs.includes('get'))) continue;
    if (isWatch && format.mediaType === 'yaml') throw notAcceptable(STREAMED);
    return format;
  }
  throw notAcceptable(WHOLE);
}

/** What a refusal is written in: JSON where nothing else was asked for, or nothing that can be. */
export function statusMediaType({ accept }: IncomingHttpHeaders): MediaType {
  if (!accept || accept === ANY || accept === mediaTypeNames.json) return 'json';
  for (const { type, parameters } of parseAccept(accept)) {
    const mediaType = mediaTypes.get(type);
    if (mediaType && !parameters.has('as')) return mediaType;
  }
  return 'json';
}

/** The paths of built-in resources know types by their full names only. */
function isRouted({ type }: Clause): boolean {
  return type === ANY || WHOLE.includes(type);
}

function formatOf({ type, parameters }: Clause, isCustom: boolean): Format | undefined {
  const mediaType = mediaTypes.get(type);
  const form = mediaType && shapeOf(parameters);
  if (!form) return undefined;
  if (mediaType === 'protobuf' && (form.shape === 'Table' || (form.shape === 'object' && isCustom))) return undefined;
  return { mediaType, ...form };
}

function shapeOf(parameters: ReadonlyMap<string, string>): { shape: Shape; version: MetaVersion } | undefined {
  const as = parameters.get('as');
  if (as === undefined) return { shape: 'object', version: 'v1' };
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return undefined;
  return { shape: as, version };
}

/** Only clauses of types that somebody here knows: the others decide nothing. */
function parseAccept(accept: string): Clause[] {
  const clauses: Clause[] = [];
  for (const text of accept.split(',')) {
    const end = text.indexOf(';');
    const type = (end === -1 ? text : text.slice(0, end)).trim().toLowerCase();
    if (!mediaTypes.has(type)) continue;
    const parameters = end === -1 ? NO_PARAMETERS : parseParameters(text.slice(end + 1));
    const weight = Number(parameters.get('q') ?? 1);
    clauses.push({ type, parameters, weight: Number.isNaN(weight) ? 0 : weight });
  }
  return clauses.sort((a, b) => b.weight - a.weight || Number(a.type === ANY) - Number(b.type === ANY));
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

function parseParameters(text: string): ReadonlyMap<string, string> {
  return new Map(text.split(';').map((part) => part.trim().split('=', 2) as [string, string]));
}
