/**
 * All APIServices that other servers answer for: who they are, whether they can be used, and what they last said they
 * serve. Follows the APIServices; what a server serves is asked when it becomes available, and every minute.
 *
 * Always true: without any, every question costs one look at an empty map. What a server said is kept while it cannot be
 * reached, and marked as stale. Every change raises `generation`.
 */
import type { JsonObject } from '../../api/index.ts';
import { compareVersions } from '../registry/version-order.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { type ApiService, asApiService, isAvailable, nameOf } from './api-service.ts';
import { AGGREGATED_ACCEPT, openApiUrl, resourcesFromAggregated, resourcesFromList } from './remote-discovery.ts';
import { type RemoteParts, RemoteServer } from './remote-server.ts';

const REFRESH_MS = 60_000;
const ASK_MS = 5000;
const LIMIT_BYTES = 8 * 1024 * 1024;

export type RemoteApi = {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly server: RemoteServer;
  isAvailable: boolean;
  /** Absent until it has said so. */
  resources: JsonObject[] | undefined;
  isFresh: boolean;
  /** Where it keeps its OpenAPI of this version. */
  openApi: string | undefined;
};

export class RemoteApis {
  readonly #storage: ResourceStorage<Cacher>;
  readonly #parts: RemoteParts;
  readonly #byName = new Map<string, RemoteApi>();
  readonly #stop = new AbortController();
  /** By who is asked: an APIService that has moved need not wait for its old server. */
  readonly #tasks = new Map<RemoteApi, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #generation = 0;
  /** Told which APIService came or changed. */
  onChange: (name: string) => void = () => {};

  constructor(storage: ResourceStorage<Cacher>, parts: RemoteParts) {
    this.#storage = storage;
    this.#parts = parts;
    this.#timer = setInterval(() => this.#refreshAll(), REFRESH_MS).unref();
  }

  start(): void {
    this.#storage.objects.follow((current, previous) => this.#onChange(current, previous));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all(this.#tasks.values());
  }

  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#byName.size;
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  all(): Iterable<RemoteApi> {
    return this.#byName.values();
  }

  find(group: string, version: string): RemoteApi | undefined {
    return this.#byName.size === 0 ? undefined : this.#byName.get(nameOf(group, version));
  }

  serverOf(name: string): RemoteServer | undefined {
    return this.#byName.get(name)?.server;
  }

  /** The versions of a group that others answer for, the preferred one first. */
  versionsOf(group: string): RemoteApi[] {
    const found = [...this.#byName.values()].filter((one) => one.group === group);
    return found.sort((a, b) => b.versionPriority - a.versionPriority || compareVersions(a.version, b.version));
  }

  #onChange(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    const { name } = (current ?? previous)!;
    const service = current && asApiService(current.parse());
    const known = this.#byName.get(name);
    if (!service?.spec.service) {
      if (this.#byName.delete(name)) this.#generation++;
      return;
    }
    const isUsable = isAvailable(service);
    const isSame = known !== undefined && previous !== undefined && isSameSpec(service, asApiService(previous.parse()));
    const { group = '', version, groupPriorityMinimum: groupPriority, versionPriority } = service.spec;
    const api: RemoteApi = isSame
      ? known
      : {
          name,
          group,
          version,
          groupPriority,
          versionPriority,
          server: new RemoteServer(this.#parts, service.spec),
          isAvailable: isUsable,
          resources: undefined,
          isFresh: false,
          openApi: undefined,
        };
    const becameUsable = isUsable && (!isSame || !api.isAvailable);
    api.isAvailable = isUsable;
    if (!isUsable) api.isFresh = false;
    this.#byName.set(name, api);
    this.#generation++;
    if (!isSame) this.onChange(name);
    if (becameUsable) this.#refresh(api);
  }

  #refreshAll(): void {
    for (const api of this.#byName.values()) if (api.isAvailable) this.#refresh(api);
  }

  #refresh(api: RemoteApi): void {
    if (this.#tasks.has(api) || this.#stop.signal.aborted) return;
    const task = this.#ask(api)
      .catch(() => {
        api.isFresh = false; // why is told by its condition
      })
      .finally(() => {
        this.#tasks.delete(api);
        this.#generation++;
      });
    this.#tasks.set(api, task);
  }

  async #ask(api: RemoteApi): Promise<void> {
    const { group, version, server } = api;
    const bounds = { timeoutMs: ASK_MS, limitBytes: LIMIT_BYTES, signal: this.#stop.signal };
    const whole = await server.get('/apis', AGGREGATED_ACCEPT, bounds);
    let resources = whole.status === 200 ? resourcesFromAggregated(whole.body, group, version) : undefined;
    if (!resources) {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const { status, body } = await server.get(path, 'application/json', bounds);
      resources = status === 200 ? resourcesFromList(body) : undefined;
    }
    if (!resources) throw new Error(`Cannot find what ${api.name} serves`);
    api.resources = resources;
    api.isFresh = api.isAvailable;
    const index = await server.get('/openapi/v3', 'application/json', bounds);
    api.openApi = index.status === 200 ? openApiUrl(index.body, group, version) : undefined;
  }
}

function isSameSpec(a: ApiService, b: ApiService): boolean {
  return JSON.stringify(a.spec) === JSON.stringify(b.spec);
}
