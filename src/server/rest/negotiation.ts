/**
 * What a client wants to be answered in, from its Accept header: a media type, and a shape (the object itself, a Table,
 * metadata only). Clauses are tried in the order of their weight, then of appearance; the first that can be served
 * wins, and one with an unknown shape is passed over.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { notAcceptable, routeNotAcceptable } from '../../api/index.ts';
import type { MetaVersion } from '../tables/partial-metadata.ts';

export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export type Format = { readonly mediaType: 'json' | 'yaml'; readonly shape: Shape; readonly version: MetaVersion };

export const plainFormat: Format = { mediaType: 'json', shape: 'object', version: 'v1' };

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const WHOLE = ['application/json', 'application/yaml', PROTOBUF];
const STREAMED = ['application/json;stream=watch', `${PROTOBUF};stream=watch`];

type Clause = { readonly type: string; readonly parameters: ReadonlyMap<string, string>; readonly weight: number };

/** `isCollection`: the path also takes watches, which a refusal then lists. */
export function negotiate(headers: IncomingHttpHeaders, isWatch: boolean, isCollection: boolean = isWatch): Format {
  const { accept } = headers;
  if (!accept || accept === '*/*' || accept === 'application/json') return plainFormat;
  const clauses = parseAccept(accept);
  for (const clause of clauses) {
    const format = formatOf(clause, isWatch);
    if (format) return format;
  }
  if (isWatch && clauses.some(({ type }) => type === 'application/yaml')) throw notAcceptable(STREAMED);
  // Protobuf is a type the path knows; that this server does not write it comes out later.
  if (clauses.some(({ type }) => type === PROTOBUF)) throw notAcceptable(isWatch ? STREAMED : WHOLE);
  if (clauses.some(({ type }) => type === 'application/json')) throw notAcceptable(isWatch ? STREAMED : WHOLE);
  throw routeNotAcceptable(isCollection ? [...WHOLE, ...STREAMED] : WHOLE);
}

function formatOf({ type, parameters }: Clause, isWatch: boolean): Format | undefined {
  const isJson = type === 'application/json' || type === '*/*';
  const isYaml = type === 'application/yaml' && !isWatch;
  if (!isJson && !isYaml) return undefined;
  const shape = shapeOf(parameters);
  return shape && { mediaType: isYaml ? 'yaml' : 'json', ...shape };
}

function shapeOf(parameters: ReadonlyMap<string, string>): { shape: Shape; version: MetaVersion } | undefined {
  const as = parameters.get('as');
  if (as === undefined) return { shape: 'object', version: 'v1' };
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return undefined;
  return { shape: as, version };
}

function parseAccept(accept: string): Clause[] {
  const clauses = accept.split(',').map((text): Clause => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => part.split('=', 2) as [string, string]));
    const weight = Number(parameters.get('q') ?? 1);
    return { type: type.toLowerCase(), parameters, weight: Number.isNaN(weight) ? 0 : weight };
  });
  return clauses.sort((a, b) => b.weight - a.weight);
}
