/**
 * The APIServices of what this server answers for itself: one for each version of its own groups, made when it starts;
 * one for each version of a custom group, put back while it is served and gone when it is not.
 *
 * Always true: what does not carry the label of these was made by somebody else, and is left alone. Follows the registry
 * and the APIServices; what fails is tried again. Several servers on one store want the same.
 */
import type { KubeObject } from '../../api/index.ts';
import { SyncQueue } from '../event-loop/sync-queue.ts';
import { nowInSeconds, type Rest } from '../rest/rest.ts';
import { createAsServer } from '../rest/writing/create-as-server.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { API_SERVICES, LOCAL_CONDITION, nameOf, ownPriority } from './api-service.ts';

const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';
const FILL_MS = 10_000;
/** Of all custom groups at once. */
const ALL = 'all';

export class OwnApiServices {
  readonly #rest: Rest;
  readonly #storage: ResourceStorage<Cacher>;
  readonly #queue: SyncQueue;
  readonly #stop = new AbortController();
  #stopListening: (() => void) | undefined;

  constructor(rest: Rest, log: (line: string) => void) {
    this.#rest = rest;
    this.#storage = rest.storages.followedStorageOf(API_SERVICES.group, API_SERVICES.plural);
    this.#queue = new SyncQueue({
      sync: () => this.#settle(),
      onFailure: (_all, { message }) => log(`cannot keep the APIServices of custom groups: ${message}; trying again`),
    });
  }

  /** Resolves once every group of this server has its APIServices. */
  async start(): Promise<void> {
    const { objects } = this.#storage;
    const { registry } = this.#rest.storages;
    await objects.catchUp(FILL_MS, this.#stop.signal);
    const missing: Promise<void>[] = [];
    for (const { group, versions, isCustom } of registry.groups()) {
      if (isCustom || group === API_SERVICES.group) continue;
      for (const version of versions)
        if (!objects.peek('', nameOf(group, version))) missing.push(this.#create(group, version, false));
    }
    await Promise.all(missing);
    objects.follow((current, previous) => {
      if (!current || !previous) this.#queue.add(ALL);
    });
    this.#stopListening = registry.onChange(() => this.#queue.add(ALL));
    this.#queue.add(ALL);
  }

  async close(): Promise<void> {
    this.#stopListening?.();
    this.#stop.abort();
    await this.#queue.close();
  }

  async #settle(): Promise<void> {
    const { registry } = this.#rest.storages;
    const { objects } = this.#storage;
    const wanted = new Set<string>();
    const writes: Promise<unknown>[] = [];
    for (const { group, versions, isCustom } of registry.groups()) {
      if (!isCustom) continue;
      for (const version of versions) {
        wanted.add(nameOf(group, version));
        if (!objects.peek('', nameOf(group, version))) writes.push(this.#create(group, version, true));
      }
    }
    for (const found of objects.objects.values())
      if (found.labels?.[MANAGED] === 'true' && !wanted.has(found.name)) writes.push(this.#storage.delete(found));
    await Promise.all(writes);
  }

  #create(group: string, version: string, isCustom: boolean): Promise<void> {
    const priority = ownPriority(group, version, isCustom);
    const service: KubeObject = {
      kind: 'APIService',
      apiVersion: 'apiregistration.k8s.io/v1',
      metadata: { name: nameOf(group, version), labels: { [MANAGED]: isCustom ? 'true' : 'onstart' } },
      spec: {
        ...(group !== '' && { group }),
        version,
        groupPriorityMinimum: priority.group,
        versionPriority: priority.version,
      },
      status: { conditions: [{ ...LOCAL_CONDITION, lastTransitionTime: nowInSeconds() }] },
    };
    return createAsServer(this.#rest, this.#storage, service);
  }
}
