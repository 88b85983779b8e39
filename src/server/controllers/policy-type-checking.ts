/**
 * Writes into the status of each ValidatingAdmissionPolicy what type checking finds in its expressions, and for which
 * generation: what kube-controller-manager's validatingadmissionpolicy-status-controller does.
 *
 * Always true: a policy is checked once per generation, one at a time, and the status is written only over the version
 * that was checked. What fails is done again.
 */
import { type JsonObject, type KubeObject, plainError } from '../../api/index.ts';
import { expressionWarnings } from '../admission/policies/type-checking/type-checking.ts';
import { checkDecoded } from '../codec/index.ts';
import { SyncQueue } from '../event-loop/sync-queue.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { applySteps } from '../managed-fields/index.ts';
import { nowInSeconds, type Rest } from '../rest/rest.ts';
import { ignoredFields, prepareUpdate } from '../rest/writing/prepare.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';

const MANAGER = 'validatingadmissionpolicy-status';

export class PolicyTypeChecking {
  readonly #rest: Rest;
  readonly #storage: ResourceStorage<Cacher>;
  readonly #queue: SyncQueue;

  constructor(rest: Rest, log: (line: string) => void) {
    this.#rest = rest;
    const storage = rest.storages.followedStorageOf('admissionregistration.k8s.io', 'validatingadmissionpolicies');
    this.#storage = storage;
    this.#queue = new SyncQueue({
      sync: (name, signal) => this.#check(name, signal),
      onFailure: (name, { message }) =>
        log(`cannot check the types of ValidatingAdmissionPolicy "${name}": ${message}; trying again`),
    });
    storage.objects.follow((current, previous) => {
      if (current) this.#queue.add(current.name);
      else this.#queue.forget(previous!.name);
    });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #check(name: string, signal: AbortSignal): Promise<void> {
    const stored = this.#storage.objects.peek('', name);
    if (!stored) return;
    const policy = this.#storage.toObject(stored);
    const { generation = 0, deletionTimestamp } = policy.metadata;
    const { observedGeneration = 0 } = (policy.status ?? {}) as { observedGeneration?: number };
    if (generation <= observedGeneration || deletionTimestamp) return;
    const warnings = await expressionWarnings(policy, this.#rest.storages.registry);
    const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
    const object = await this.#applied(policy, { observedGeneration: generation, typeChecking }, signal);
    const context = this.#rest.ownContext('status');
    const prepared = await prepareUpdate(this.#storage, policy, object, { manager: MANAGER, isTracked: true }, context);
    // Lost to another writer: the change that won is told of again.
    await this.#storage.update(stored, prepared);
  }

  async #applied(policy: KubeObject, status: JsonObject, signal: AbortSignal): Promise<KubeObject> {
    const { schema, groupVersion, kind } = this.#storage.resource;
    const steps = applySteps({
      body: { apiVersion: groupVersion, kind, metadata: { name: policy.metadata.name! }, status },
      schema,
      manager: MANAGER,
      apiVersion: groupVersion,
      subresource: 'status',
      force: true,
      now: nowInSeconds(),
      ignored: ignoredFields(this.#storage, 'status'),
      live: policy as unknown as JsonObject,
    });
    const applied = await new WorkSlices(signal).run(steps);
    const decoded = checkDecoded(applied, this.#storage.resource, 'Ignore', (why) => plainError(why));
    const object = decoded.object as unknown as KubeObject;
    object.metadata.resourceVersion = policy.metadata.resourceVersion!;
    return object;
  }
}
