/**
 * Answers `/openapi/v3`, its documents, and `/openapi/v2`.
 *
 * Always true: a document is written when it is first asked for and kept until what it was made from changes; a change
 * of one custom kind leaves the documents of other groups alone. The index needs hashes of all documents, so a hash is
 * taken of what goes into a document, and none has to be written for it.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { matchesEtag } from '../discovery/discovery.ts';
import { versionInfo } from '../discovery/version-info.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import { builtInTypes } from '../schema/built-in-types.ts';
import { swaggerDocument } from './v2-document.ts';
import { swaggerProtobuf } from './v2-protobuf.ts';
import { documentForm, groupVersionDocument, indexDocument, versionDocument } from './v3-document.ts';

type Source = { readonly hash: string; readonly make: () => JsonObject };

const indexPath = '/openapi/v3';
const yearMs = 365 * 24 * 3600 * 1000;
// Clients ask for it with an @, which is no valid media type: what is answered has none.
const protobufAsked = /application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/;
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const nothing = Buffer.alloc(0);
const mayKeep = { 'Cache-Control': 'public, immutable' };
const mustAsk = { 'Cache-Control': 'no-cache, private' };

export type OpenApiOptions = {
  readonly registry: Registry;
  /** Documents of other servers, by name: where they have them. Whoever asks for one is not answered here. */
  readonly others?: () => Iterable<readonly [name: string, url: string]>;
};

export class OpenApi {
  readonly #registry: Registry;
  readonly #others: NonNullable<OpenApiOptions['others']>;
  readonly #written = new Map<string, { readonly hash: string; readonly body: Buffer }>();
  #sources: ReadonlyMap<string, Source> | undefined;
  #generation = 0;

  constructor({ registry, others = () => [] }: OpenApiOptions) {
    this.#registry = registry;
    this.#others = others;
  }

  /** False: not a path of ours, and nothing has been answered. */
  handle(context: RequestContext): boolean {
    const path = context.path.replace(/\/$/, '');
    if (path === '/openapi/v2') this.#sendSwagger(context);
    else if (path === indexPath) this.#sendIndex(context);
    else if (path.startsWith(`${indexPath}/`)) this.#sendDocument(context, path.slice(indexPath.length + 1));
    else return false;
    return true;
  }

  #sendIndex(context: RequestContext): void {
    const own = [...this.#sourceIndex()].map(([name, { hash }]) => [name, urlOf(name, hash)] as const);
    const entries = [...own, ...this.#others()].map(([name, url]) => [name, { serverRelativeURL: url }]);
    const body = Buffer.from(JSON.stringify({ paths: Object.fromEntries(entries) }));
    // kube-apiserver calls it text whatever is asked for; clients do not look.
    sendTagged(context, 'text/plain; charset=utf-8', body, sha512(body));
  }

  #sendDocument(context: RequestContext, name: string): void {
    const source = this.#sourceIndex().get(name);
    const asked = context.query.get('hash') ?? '';
    if (!source) context.send(404, '', nothing);
    else if (!acceptsJson(context)) context.send(406, '', nothing);
    else if (asked !== '' && asked !== source.hash)
      context.send(301, 'application/json', nothing, { Location: urlOf(name, source.hash) });
    else {
      const caching = asked === '' ? mustAsk : { ...mayKeep, Expires: new Date(Date.now() + yearMs).toUTCString() };
      sendTagged(context, 'application/json', () => this.#write(name, source), source.hash, caching);
    }
  }

  #sendSwagger(context: RequestContext): void {
    const resources = [...this.#registry.all()];
    const hash = fingerprint(['v2', ...resources.map(resourceDigest)]);
    const write = (form: string, toBytes: (document: JsonObject) => Buffer) => () =>
      this.#write(form, { hash, make: () => swaggerDocument(resources) }, toBytes);
    if (acceptsJson(context)) sendTagged(context, 'application/json', write('v2', toJson), hash);
    else if (protobufAsked.test(context.headers.accept ?? ''))
      sendTagged(context, protobufType, write('v2 protobuf', swaggerProtobuf), `${hash}-P`);
    else context.send(406, '', nothing);
  }

  #write(name: string, { hash, make }: Source, toBytes: (document: JsonObject) => Buffer = toJson): Buffer {
    const known = this.#written.get(name);
    if (known?.hash === hash) return known.body;
    const body = toBytes(make());
    this.#written.set(name, { hash, body });
    return body;
  }

  #sourceIndex(): ReadonlyMap<string, Source> {
    if (this.#sources && this.#generation === this.#registry.generation) return this.#sources;
    const sources = sourcesOf(this.#registry);
    for (const name of this.#written.keys())
      if (!name.startsWith('v2') && !sources.has(name)) this.#written.delete(name);
    this.#sources = sources;
    this.#generation = this.#registry.generation;
    return sources;
  }
}

function sourcesOf(registry: Registry): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>();
  const put = (name: string, make: () => JsonObject, parts: string[] = []) =>
    sources.set(name, { hash: fingerprint([name, ...parts]), make });
  put('version', () => versionDocument(Object.keys(versionInfo)));
  put('api', () => indexDocument('/api/', 'APIVersions'));
  put('apis', () => indexDocument('/apis/', 'APIGroupList'));
  for (const { group, versions, isCustom } of registry.groups()) {
    // What tells of the groups of custom kinds is no path that is described.
    if (group !== '' && !isCustom) put(`apis/${group}`, () => indexDocument(`/apis/${group}/`, 'APIGroup'));
    for (const version of versions) {
      const resources = registry.resourcesOf(group, version);
      const name = group === '' ? `api/${version}` : `apis/${group}/${version}`;
      put(name, () => groupVersionDocument(resources), resources.map(resourceDigest));
    }
  }
  return new Map([...sources].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const digests = new WeakMap<Resource, string>();

function resourceDigest(resource: Resource): string {
  let digest = digests.get(resource);
  if (digest === undefined) {
    const { schema: _schema, ...facts } = Object.getOwnPropertyDescriptors(resource);
    digest = sha512(jsonText(Object.entries(facts).map(([name, { value }]) => [name, value])));
    digests.set(resource, digest);
  }
  return digest;
}

let typesDigest: string | undefined;

function fingerprint(parts: readonly string[]): string {
  typesDigest ??= sha512(builtInTypes().text);
  return sha512(JSON.stringify([documentForm, versionInfo.gitVersion, typesDigest, ...parts]));
}

function sha512(data: string | Buffer): string {
  return createHash('sha512').update(data).digest('hex').toUpperCase();
}

function toJson(document: JsonObject): Buffer {
  return Buffer.from(jsonText(document));
}

function urlOf(name: string, hash: string): string {
  return `${indexPath}/${name}?hash=${hash}`;
}

function acceptsJson({ headers: { accept } }: RequestContext): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return accept.split(',').some((clause) => /^\s*(application\/json|application\/\*|\*\/\*)\s*(;|$)/i.test(clause));
}

function sendTagged(
  context: RequestContext,
  contentType: string,
  body: Buffer | (() => Buffer),
  hash: string,
  more: Readonly<Record<string, string>> = {},
): void {
  const headers = { ETag: `"${hash}"`, Vary: 'Accept', ...more };
  if (matchesEtag(context, headers.ETag)) context.send(304, '', nothing, headers);
  else context.send(200, contentType, typeof body === 'function' ? body() : body, headers);
}
