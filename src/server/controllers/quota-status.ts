/**
 * Counts what each ResourceQuota restrains, and writes it into its status: what kube-controller-manager's
 * resourcequota-controller does. Admission charges what is created; this counts what was there before the quota was, and
 * gives back what has gone.
 *
 * Always true: quotas are counted one at a time, and a count is written only over the version of the quota that was there
 * when counting began, so a charge of admission meanwhile is never lost: the quota is counted again. Changes that come close
 * together are one count; one that fails is done again. Everything is counted again every five minutes, since a charge whose object was then not stored
 * leaves no trace. Without a watch cache of quotas there is nothing to follow, and nothing is counted.
 */
import { type Clock, type JsonObject, type KubeObject, Quantity, wallNow } from '../../api/index.ts';
import { mayCount } from '../admission/quota/resource-quota.ts';
import { isInScopes } from '../admission/quota/scopes.ts';
import { usageOf } from '../admission/quota/usage.ts';
import { SyncQueue } from '../event-loop/sync-queue.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { Rest } from '../rest/rest.ts';
import { prepareUpdate } from '../rest/writing/prepare.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { objectAt, sameValue } from '../strategy/validation/fields.ts';

const MANAGER = 'kube-controller-manager';
const GATHER_MS = 50;
const RECOUNT_MS = 5 * 60_000;
/** Kinds of which an update can give something back; of all others only their end does. */
const SHRINKING: ReadonlySet<string> = new Set(['pods', 'services', 'persistentvolumeclaims']);

export type QuotaStatusOptions = {
  readonly rest: Rest;
  readonly clock: Clock;
  readonly log: (line: string) => void;
};

export class QuotaStatus {
  readonly #options: QuotaStatusOptions;
  readonly #quotas: ResourceStorage<Cacher>;
  /** Names of quotas by namespace. */
  readonly #known = new Map<string, Set<string>>();
  /** Storages whose changes are heard of. */
  readonly #followed = new Set<string>();
  readonly #queue: SyncQueue;
  readonly #stop = new AbortController();
  readonly #recounting: Promise<void>;

  static start(options: QuotaStatusOptions): QuotaStatus | undefined {
    const quotas = options.rest.storages.cachedStorageOf('', 'resourcequotas');
    return quotas && new QuotaStatus(options, quotas);
  }

  private constructor(options: QuotaStatusOptions, quotas: ResourceStorage<Cacher>) {
    this.#options = options;
    this.#quotas = quotas;
    this.#queue = new SyncQueue({
      sync: (key, signal) => this.#count(key, signal),
      onFailure: (key, { message }) => options.log(`cannot count for ResourceQuota "${key}": ${message}; trying again`),
      gatherMs: GATHER_MS,
      clock: options.clock,
    });
    quotas.objects.follow((current, previous) => this.#onQuota(current, previous));
    this.#recounting = this.#recountAll();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await this.#recounting;
    await this.#queue.close();
  }

  #onQuota(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    const { namespace, name, key } = (current ?? previous)!;
    const names = this.#known.get(namespace) ?? new Set();
    if (!current) names.delete(name);
    else names.add(name);
    if (names.size === 0) this.#known.delete(namespace);
    else this.#known.set(namespace, names);
    // What admission charges changes only what is used, and needs no count.
    if (current && !isCounted(this.#quotas.toObject(current))) this.#queue.add(key);
  }

  #wakeNamespace(namespace: string): void {
    for (const name of this.#known.get(namespace) ?? []) this.#queue.add(`${namespace}/${name}`);
  }

  async #recountAll(): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(RECOUNT_MS, this.#stop.signal).catch(() => {});
      if (this.#stop.signal.aborted) return;
      for (const namespace of this.#known.keys()) this.#wakeNamespace(namespace);
    }
  }

  async #count(key: string, signal: AbortSignal): Promise<void> {
    const slash = key.indexOf('/');
    const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
    const stored = await this.#quotas.read(namespace, name);
    if (!stored) return;
    const quota = this.#quotas.toObject(stored);
    const hard = objectAt(objectAt(quota as JsonObject, 'spec'), 'hard') ?? {};
    const used = await this.#usedOf(quota, namespace, Object.keys(hard), signal);
    const status = { hard, used };
    if (sameValue(quota.status, status)) return;
    const { resourceVersion: _version, ...metadata } = quota.metadata;
    const context = this.#options.rest.ownContext('status');
    const wanted = { ...quota, metadata, status } as KubeObject;
    const prepared = await prepareUpdate(this.#quotas, quota, wanted, { manager: MANAGER }, context);
    const outcome = await this.#quotas.update(stored, prepared);
    if ('instead' in outcome && outcome.instead) this.#queue.add(key);
  }

  async #usedOf(
    quota: KubeObject,
    namespace: string,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const used = new Map<string, Quantity>();
    const slices = new WorkSlices(signal);
    const now = wallNow();
    for (const resource of this.#countedBy(names)) {
      const usage = usageOf(resource);
      for (const name of names) if (usage.counts(name)) used.set(name, used.get(name) ?? ZERO);
      this.#follow(resource);
      const storage = this.#options.rest.storages.storageFor(resource);
      const scope = `${namespace}/`;
      const at = { resourceVersion: '' };
      const { objects } = await storage.objects.list({ scope, start: scope, at, signal });
      for (const one of objects) {
        if (slices.isOver) await slices.pause();
        const object = storage.toObject(one);
        if (!isInScopes(quota, resource, object)) continue;
        for (const [name, amount] of usage.of(object, now)) {
          const sum = used.get(name);
          if (sum) used.set(name, sum.add(amount));
        }
      }
    }
    return Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => [name, `${sum}`]));
  }

  /** One resource for each kind that is stored. */
  #countedBy(names: readonly string[]): Resource[] {
    const found = new Map<string, Resource>();
    for (const resource of this.#options.rest.storages.registry.all()) {
      const name = qualifiedName(resource);
      if (found.has(name) || !resource.verbs.includes('list') || !mayCount('CREATE', resource, '')) continue;
      const usage = usageOf(resource);
      if (names.some((one) => usage.counts(one))) found.set(name, resource);
    }
    return [...found.values()];
  }

  #follow(resource: Resource): void {
    const { storages } = this.#options.rest;
    const name = qualifiedName(resource);
    // A custom kind may go and come again, as another storage: those are counted every five minutes only.
    if (resource.isCustom || this.#followed.has(name)) return;
    this.#followed.add(name);
    const storage = storages.cachedStorageOf(resource.group, resource.plural);
    storage?.objects.follow((current, previous) => {
      if (!previous || (current && !SHRINKING.has(name))) return;
      this.#wakeNamespace(previous.namespace);
    });
  }
}

const ZERO = new Quantity(0n, 0, 'DecimalSI');

/** Whether its status is about what it restrains now. */
function isCounted(quota: KubeObject): boolean {
  const hard = objectAt(objectAt(quota as JsonObject, 'spec'), 'hard') ?? {};
  const status = objectAt(quota as JsonObject, 'status');
  return (
    sameValue(objectAt(status, 'hard') ?? {}, hard) && (Object.keys(hard).length === 0 || status?.used !== undefined)
  );
}
