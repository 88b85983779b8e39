/**
 * What a cluster serves, asked once and remembered: from a kind to a token, for programs that learn kinds only when
 * they run. A kind that is not found is looked for again, but not more often than every ten seconds.
 *
 * Asks for the aggregated documents (two requests), and for one list per group where the server does not have those.
 */
import type { Clock } from '../../api/index.ts';
import { isApiError } from '../errors.ts';
import { defineResourceOf, type Resource } from '../objects/define-resource.ts';
import type { DynamicObject } from '../objects/objects.ts';
import { groupOf } from '../objects/resource-name.ts';
import type { Transport } from '../transport/transport.ts';

export type DiscoveredResource = {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
};

export type ResourceQuery = {
  readonly kind: string;
  /** Any; where several have the kind, the one the server prefers. */
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  /** Both of them, as objects and references to objects have it. */
  readonly apiVersion?: string | undefined;
};

type AggregatedVersion = {
  version: string;
  resources?: {
    resource: string;
    responseKind?: { kind: string };
    scope: 'Namespaced' | 'Cluster';
    verbs: string[];
    shortNames?: string[];
    categories?: string[];
  }[];
};
type Aggregated = { kind: string; items?: { metadata?: { name?: string }; versions: AggregatedVersion[] }[] };
type LegacyResource = {
  name: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
};
type LegacyGroups = {
  versions?: string[];
  groups?: { name: string; versions: { version: string }[]; preferredVersion?: { version: string } }[];
};

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
const MAX_AGE_MS = 10 * 60_000;
const MIN_AGE_MS = 10_000;

export class Discovery {
  readonly #transport: Transport;
  readonly #clock: Clock;
  #known: { at: number; resources: Promise<readonly DiscoveredResource[]> } | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#clock = transport.clock;
  }

  /**
   * A token for a kind; throws if the cluster does not serve it.
   *
   *     await client.discovery.find({ kind: 'Deployment' });
   *     await client.discovery.find(pod.metadata.ownerReferences[0]);
   */
  async find({ kind, ...where }: ResourceQuery): Promise<Resource<DynamicObject>> {
    const { apiVersion } = where;
    const { group, version } = apiVersion === undefined ? where : splitVersion(apiVersion);
    const query = { kind, group, version };
    const found = select(await this.resources(), query) ?? select(await this.resources(MIN_AGE_MS), query);
    if (found) return defineResourceOf<DynamicObject>(found);
    const place =
      group === undefined ? 'any group' : `group "${group}"${version === undefined ? '' : ` version "${version}"`}`;
    throw new Error(
      `Cannot find a resource of kind "${kind}": ${this.#transport.access.server.host} has none in ${place}`,
    );
  }

  /** What is known may not be so any more: the next who asks has it asked anew. */
  forget(): void {
    this.#known = undefined;
  }

  /** Everything, in the server's order of preference; no older than asked for. */
  async resources(maxAgeMs: number = MAX_AGE_MS): Promise<readonly DiscoveredResource[]> {
    if (!this.#known || this.#clock.now() - this.#known.at >= maxAgeMs) this.#known = this.#fetch();
    const known = this.#known;
    try {
      return await known.resources;
    } catch (err) {
      if (this.#known === known) this.#known = undefined; // ask again next time
      throw err;
    }
  }

  #fetch(): { at: number; resources: Promise<readonly DiscoveredResource[]> } {
    const parts = Promise.all([this.#root('/api'), this.#root('/apis')]);
    return { at: this.#clock.now(), resources: parts.then((all) => all.flat()) };
  }

  async #root(path: '/api' | '/apis'): Promise<DiscoveredResource[]> {
    const { body } = await this.#transport.request<Aggregated & LegacyGroups>('GET', path, { accept: AGGREGATED });
    if (body.kind === 'APIGroupDiscoveryList') return aggregated(body);
    const versions =
      path === '/api'
        ? (body.versions ?? []).map((version) => ({ group: '', version }))
        : (body.groups ?? []).flatMap(({ name, versions, preferredVersion }) =>
            versions
              .map(({ version }) => ({ group: name, version }))
              .sort((a, b) => rank(a, preferredVersion) - rank(b, preferredVersion)),
          );
    const lists = await Promise.all(versions.map(({ group, version }) => this.#legacy(group, version)));
    return lists.flat();
  }

  /** A group whose own server is away is left out: the others are still there. */
  async #legacy(group: string, version: string): Promise<DiscoveredResource[]> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    try {
      const { body } = await this.#transport.request<{ resources?: LegacyResource[] }>('GET', path);
      return (body.resources ?? [])
        .filter(({ name }) => !name.includes('/'))
        .map(({ name, kind, namespaced, verbs, shortNames = [], categories = [] }) => {
          return { group, version, plural: name, kind, isNamespaced: namespaced, verbs, shortNames, categories };
        });
    } catch (err) {
      if (isApiError(err) && (err.code === 404 || err.code >= 500)) return [];
      throw err;
    }
  }
}

function aggregated({ items = [] }: Aggregated): DiscoveredResource[] {
  return items.flatMap(({ metadata, versions }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.map(({ resource, responseKind, scope, verbs, shortNames = [], categories = [] }) => ({
        group: metadata?.name ?? '',
        version,
        plural: resource,
        kind: responseKind?.kind ?? '',
        isNamespaced: scope === 'Namespaced',
        verbs,
        shortNames,
        categories,
      })),
    ),
  );
}

function splitVersion(apiVersion: string): { group: string; version: string } {
  const group = groupOf(apiVersion);
  return { group, version: group === '' ? apiVersion : apiVersion.slice(group.length + 1) };
}

function select(resources: readonly DiscoveredResource[], { kind, group, version }: ResourceQuery) {
  return resources.find(
    (one) =>
      one.kind === kind &&
      (group === undefined || one.group === group) &&
      (version === undefined || one.version === version) &&
      one.verbs.includes('get'),
  );
}

function rank({ version }: { version: string }, preferred: { version: string } | undefined): number {
  return version === preferred?.version ? 0 : 1;
}
