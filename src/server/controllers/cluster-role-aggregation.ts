/**
 * Cluster roles that gather the rules of others by label (admin, edit and view are such), kept up to date.
 *
 * Always true: the rules of a gathering role are the union of what it selects, in order of names and without
 * repetition; it never selects itself. A write happens only when that changes something, so that several servers on one
 * store settle instead of chasing each other. What fails is tried again, later each time, and holds up no other role.
 * A role is parsed once, however often others change, and others have their turn between roles.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { SyncQueue } from '../event-loop/sync-queue.ts';
import { aggregatedRules, selectorsOf } from '../rbac/aggregated-rules.ts';
import { rulesIn } from '../rbac/policy-rule.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';

/** Changes that come close together are answered once. */
const SETTLE_MS = 20;
/** A change of one may matter to any other: they have one turn together. */
const ALL = 'all';
const ROLES_PER_TURN = 200;

/** Runs until it is closed; `storage` is that of the cluster roles. */
export class ClusterRoleAggregator {
  readonly #storage: ResourceStorage<Cacher>;
  readonly #queue: SyncQueue;
  /** Gone with the version they were made from. */
  readonly #parsed = new WeakMap<StoredObject, KubeObject>();

  constructor(storage: ResourceStorage<Cacher>, log: (line: string) => void) {
    this.#storage = storage;
    this.#queue = new SyncQueue({
      sync: () => this.#gather(),
      onFailure: (_all, { message }) => log(`cannot gather the rules of cluster roles: ${message}; trying again`),
      gatherMs: SETTLE_MS,
    });
    storage.objects.follow(() => this.#queue.add(ALL));
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #gather(): Promise<void> {
    const cached = this.#storage.objects.objects.values();
    const all: KubeObject[] = [];
    for (const [i, one] of cached.entries()) {
      if (i % ROLES_PER_TURN === ROLES_PER_TURN - 1) await nextTurn();
      all.push(this.#parse(one));
    }
    let failure: unknown;
    for (const [i, role] of all.entries()) {
      if (selectorsOf(role).length === 0) continue;
      await nextTurn();
      const rules = aggregatedRules(role, all);
      if (isDeepStrictEqual(rules, rulesIn(role))) continue;
      const gathered = { ...role, rules: rules as unknown as JsonObject[] };
      // Lost to another writer: the change that won wakes us again.
      await this.#storage.update(cached[i]!, gathered).catch((err: unknown) => {
        failure = err;
      });
    }
    if (failure) throw failure;
  }

  #parse(cached: StoredObject): KubeObject {
    let role = this.#parsed.get(cached);
    if (!role) {
      role = this.#storage.toObject(cached);
      this.#parsed.set(cached, role);
    }
    return role;
  }
}
