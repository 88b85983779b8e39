/**
 * Answers what the server has to offer: `/`, `/version`, `/api`, `/apis` and what lies directly below them.
 *
 * Always true: a document is written once, when it is first asked for, and the same bytes go out until the registry
 * changes. A path that leads into no group is not ours: `handle` says false and answers nothing.
 */
import { createHash } from 'node:crypto';
import { methodNotAllowed, notAcceptable, resourceNotFound } from '../../api/index.ts';
import type { JsonObject } from '../../api/json.ts';
import type { RequestContext } from '../request/request-context.ts';
import { aggregatedGroups } from './aggregated-documents.ts';
import type { DiscoveredGroups } from './discovered-groups.ts';
import { aggregatedType, chooseForm, jsonType } from './discovery-form.ts';
import { coreVersions, groupList, resourceList, singleGroup } from './legacy-documents.ts';
import { type VersionInfo, versionInfo } from './version-info.ts';

export type DiscoveryOptions = {
  readonly registry: DiscoveredGroups;
  readonly version?: VersionInfo;
  /** Paths outside the API that `/` lists too. */
  readonly otherPaths?: readonly string[];
};

const defaultPaths = ['/healthz', '/livez', '/metrics', '/openapi/v2', '/openapi/v3', '/readyz', '/version'];

type Root = 'api' | 'apis';
type Document = { readonly body: Buffer; readonly etag: string };

export class Discovery {
  readonly #registry: DiscoveredGroups;
  readonly #version: Buffer;
  readonly #otherPaths: readonly string[];
  readonly #documents = new Map<string, Document>();
  #generation: number;

  constructor({ registry, version = versionInfo, otherPaths = defaultPaths }: DiscoveryOptions) {
    this.#registry = registry;
    this.#generation = registry.generation;
    this.#version = indented(version);
    this.#otherPaths = otherPaths;
  }

  /** False: nothing here by that path, and nothing has been answered. Throws a StatusError where one is due. */
  handle(context: RequestContext): boolean {
    const [root, ...rest] = context.path.replace(/^\//, '').replace(/\/$/, '').split('/');
    if (root === '' && rest.length === 0) return this.#sendIndex(context);
    if (root === 'version' && rest.length === 0) return this.#sendVersion(context);
    if (root === 'api') return this.#handleCore(context, rest);
    if (root === 'apis') return this.#handleGroups(context, rest);
    return false;
  }

  #handleCore(context: RequestContext, [version, ...below]: string[]): boolean {
    if (below.length > 0) return false;
    if (version === undefined) return this.#sendRoot(context, 'api');
    return this.#sendResources(context, '', version);
  }

  #handleGroups(context: RequestContext, [group, version, ...below]: string[]): boolean {
    if (below.length > 0) return false;
    if (group === undefined) return this.#sendRoot(context, 'apis');
    if (group === '') return false; // the core group has its own root
    if (version !== undefined) return this.#sendResources(context, group, version);
    if (!this.#registry.isGroupServed(group)) return false;
    return this.#sendLegacy(context, () => singleGroup(this.#registry, group));
  }

  #sendRoot(context: RequestContext, root: Root): boolean {
    requireGet(context);
    const form = chooseForm(context.headers.accept, true) ?? refuse();
    if (form === 'aggregated') return this.#sendAggregated(context, root);
    const host = context.headers.host ?? (context.headers[':authority'] as string | undefined) ?? '';
    const { body } =
      root === 'api'
        ? write(coreVersions(this.#registry, host))
        : this.#document('apis', () => groupList(this.#registry));
    context.send(200, jsonType, body, { Vary: 'Accept' });
    return true;
  }

  #sendAggregated(context: RequestContext, root: Root): boolean {
    const { body, etag } = this.#document(`aggregated ${root}`, () => aggregatedGroups(this.#registry, root));
    const headers = { ETag: etag, Vary: 'Accept', 'Cache-Control': 'public' };
    // A 304 has no body and so no type of one.
    if (matchesEtag(context, etag)) context.send(304, '', Buffer.alloc(0), headers);
    else context.send(200, aggregatedType, body, headers);
    return true;
  }

  #sendResources(context: RequestContext, group: string, version: string): boolean {
    if (this.#registry.isServed(group, version))
      return this.#sendLegacy(context, () => resourceList(this.#registry, group, version));
    // A built-in group answers for all of its versions, a custom one only for those it has.
    if (this.#registry.group(group)?.isCustom !== false) return false;
    throw resourceNotFound();
  }

  #sendLegacy(context: RequestContext, make: () => JsonObject | undefined): boolean {
    requireGet(context);
    if (!chooseForm(context.headers.accept, false)) refuse();
    const { body } = this.#document(context.path.replace(/\/$/, ''), make);
    context.send(200, jsonType, body);
    return true;
  }

  #sendVersion(context: RequestContext): boolean {
    requireGet(context);
    context.send(200, jsonType, this.#version);
    return true;
  }

  #sendIndex(context: RequestContext): boolean {
    const paths = new Set(['/api', '/apis', ...this.#otherPaths]);
    for (const { group, versions } of this.#registry.groups()) {
      const root = group === '' ? '/api' : `/apis/${group}`;
      paths.add(root);
      for (const version of versions) paths.add(`${root}/${version}`);
    }
    context.send(200, jsonType, indented({ paths: [...paths].sort() }));
    return true;
  }

  #document(key: string, make: () => JsonObject | undefined): Document {
    if (this.#generation !== this.#registry.generation) this.#documents.clear();
    this.#generation = this.#registry.generation;
    let document = this.#documents.get(key);
    if (!document) {
      document = write(make() ?? {});
      this.#documents.set(key, document);
    }
    return document;
  }
}

/** Also answers to a list of tags, and to weak ones. */
export function matchesEtag({ headers }: Pick<RequestContext, 'headers'>, etag: string): boolean {
  const asked = headers['if-none-match'];
  if (asked === undefined) return false;
  return asked.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}

function write(document: JsonObject): Document {
  const body = Buffer.from(`${JSON.stringify(document)}\n`);
  return { body, etag: `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"` };
}

function indented(value: JsonObject | VersionInfo): Buffer {
  return Buffer.from(JSON.stringify(value, undefined, 2));
}

function requireGet({ method }: RequestContext): void {
  if (method !== 'GET') throw methodNotAllowed();
}

function refuse(): never {
  throw notAcceptable([jsonType]);
}
