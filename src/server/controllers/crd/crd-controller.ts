/**
 * Follows the definitions of custom kinds and keeps the registry true to them: what is established is served, in the
 * turn in which the cache learns of it; what has changed is served anew; what is gone is not served any more.
 *
 * Also settles what nobody else does: which names a definition gets, when it is established, and the end of its objects
 * when it is deleted. All of that is written by compare-and-swap on what the cache shows, so several servers on one
 * store do it together and agree. What fails is tried again.
 *
 *   cache ─► #onChange: registry, at once ─► #settle: conditions, cleanup, one after the other
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { approvalCondition } from '../../apiextensions/api-approval.ts';
import { customResources, type DefinedResources, isServed } from '../../apiextensions/custom-resources.ts';
import {
  asDefinition,
  CLEANUP_FINALIZER,
  type Definition,
  type DefinitionNames,
  type DefinitionStatus,
  isConditionTrue,
  withCondition,
} from '../../apiextensions/definition.ts';
import { hasBadBundle } from '../../apiextensions/definition-conversion.ts';
import { SyncQueue } from '../../event-loop/sync-queue.ts';
import { trackUpdate } from '../../managed-fields/track-update.ts';
import type { ConvertObjects, DefinitionLife } from '../../registry/custom-kind.ts';
import type { Resource } from '../../registry/resource.ts';
import { nowInSeconds, type Rest } from '../../rest/rest.ts';
import type { Cacher } from '../../storage/cacher/cacher.ts';
import type { ObjectStorage } from '../../storage/object-storage.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { judgeNames, namesInUse } from './accepted-names.ts';
import { removeInstances } from './instance-cleanup.ts';

const RETRY_MS = 1000;
/** A storage that is given up goes on for so long: requests that hold it already may finish. */
const RETIRE_MS = 5000;
const WAIT_MS = 3000;

export type CrdControllerOptions = {
  readonly rest: Rest;
  /** Who converts between the versions of a definition; undefined: they differ in their name only. */
  readonly converterOf: (definition: Definition) => ConvertObjects | undefined;
  /** false: another thread of this server settles what is to be settled. */
  readonly settles?: boolean;
  readonly log: (line: string) => void;
};

/** What others must know of a definition: parsing all of them for every change would take longer the more there are. */
type Named = {
  readonly group: string;
  readonly acceptedNames: DefinitionNames | undefined;
  readonly areNamesAccepted: boolean;
};

type Known = {
  readonly id: string;
  readonly resources: DefinedResources;
  readonly life: DefinitionLife;
};

export class CrdController {
  readonly #options: CrdControllerOptions;
  readonly #storage: ResourceStorage<Cacher>;
  readonly #stop = new AbortController();
  readonly #known = new Map<string, Known>();
  /** By the name of the definition, all that the cache has. */
  readonly #named = new Map<string, Named>();
  readonly #queue: SyncQueue;
  readonly #tasks = new Set<Promise<void>>();
  readonly #cleaning = new Set<string>();
  /** Storages that are given up, and when they are closed. */
  readonly #retired = new Map<ObjectStorage, NodeJS.Timeout>();

  constructor(options: CrdControllerOptions) {
    this.#options = options;
    this.#queue = new SyncQueue({
      sync: (name) => this.#settle(name),
      onFailure: (name, { message }) =>
        options.log(`cannot settle custom resource definition ${name}: ${message}; trying again`),
    });
    this.#storage = options.rest.storages.followedStorageOf('apiextensions.k8s.io', 'customresourcedefinitions');
  }

  /** Resolves once everything that is stored is served. */
  async start(): Promise<void> {
    const { objects } = this.#storage;
    await objects.catchUp(WAIT_MS, this.#stop.signal);
    objects.follow((current, previous) => this.#onChange(current, previous));
  }

  /** Until everything is served that was established before the call. */
  async catchUp(signal: AbortSignal): Promise<void> {
    await this.#storage.objects.catchUp(WAIT_MS, signal);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#queue.close();
    await Promise.all(this.#tasks);
    for (const timer of this.#retired.values()) clearTimeout(timer);
    await Promise.all([...this.#retired.keys()].map((storage) => storage.close()));
  }

  #onChange(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    const { name } = (current ?? previous)!;
    const definition = current && asDefinition(current.parse());
    if (definition) this.#named.set(name, namedOf(definition));
    else this.#named.delete(name);
    if (definition && isServed(definition)) this.#serve(name, definition, current.revision);
    else this.#withdraw(name);
    if (!definition) this.#wakeRivals(asDefinition(previous!.parse()));
    else this.#wake(name);
  }

  #serve(name: string, definition: Definition, revision: number): void {
    const { spec, status, metadata } = definition;
    const id = jsonText([metadata.uid, spec, status.acceptedNames, status.storedVersions]);
    const isTerminating = metadata.deletionTimestamp !== undefined;
    const known = this.#known.get(name);
    if (known?.id === id) {
      known.life.isTerminating = isTerminating;
      return;
    }
    const life = { isTerminating };
    const { registry } = this.#options.rest.storages;
    try {
      const resources = customResources(definition, revision, life, this.#options.converterOf(definition));
      this.#known.set(name, { id, resources, life });
      if (known) this.#retire(known.resources.stored);
      const versions = new Set(resources.served.map(({ version }) => version));
      for (const resource of resources.served) registry.add(resource);
      for (const old of known?.resources.served ?? []) if (!versions.has(old.version)) registry.remove(old);
    } catch (err) {
      this.#options.log(`cannot serve custom resource definition ${name}: ${(err as Error).message}`);
    }
  }

  #withdraw(name: string): void {
    const known = this.#known.get(name);
    if (!known) return;
    this.#known.delete(name);
    for (const resource of known.resources.served) this.#options.rest.storages.registry.remove(resource);
    this.#retire(known.resources.stored);
  }

  /** Watchers are first given what has happened until now. */
  #retire(stored: Resource): void {
    const storage = this.#options.rest.storages.forget(stored);
    if (!storage) return;
    const { signal } = this.#stop;
    const task = async () => {
      try {
        await storage.catchUp(WAIT_MS, signal);
      } catch {
        // The store is away or we are closing: the watches end all the same.
      }
      storage.endWatches('resource-changed');
      const close = () => {
        this.#retired.delete(storage);
        this.#run(storage.close());
      };
      this.#retired.set(storage, setTimeout(close, RETIRE_MS).unref());
    };
    this.#run(task());
  }

  /** Those whose names were taken may have them now. */
  #wakeRivals({ spec }: Definition): void {
    for (const [name, { group, areNamesAccepted }] of this.#named)
      if (group === spec.group && !areNamesAccepted) this.#wake(name);
  }

  #wake(name: string): void {
    if (this.#options.settles !== false) this.#queue.add(name);
  }

  #run(task: Promise<void>): void {
    const ended: Promise<void> = task
      .catch((err: unknown) => this.#options.log(`custom resource definitions: ${(err as Error).message}`))
      .finally(() => this.#tasks.delete(ended));
    this.#tasks.add(ended);
  }

  async #settle(name: string): Promise<void> {
    let current: StoredObject | undefined = this.#storage.objects.peek('', name);
    while (current) {
      const definition = asDefinition(current.parse());
      if (definition.metadata.deletionTimestamp !== undefined) {
        if (definition.metadata.finalizers?.includes(CLEANUP_FINALIZER)) this.#cleanUp(name, definition, current);
        return;
      }
      const status = this.#nextStatus(definition);
      if (isDeepStrictEqual(status, definition.status)) return;
      current = await this.#writeStatus(current, definition, status);
      // The names of this one must be known before another is judged.
      if (current) await this.#storage.objects.waitFor(current.revision, WAIT_MS, this.#stop.signal);
    }
  }

  /** One step at a time, as clients are used to see it: first the names, then established. */
  #nextStatus(definition: Definition): DefinitionStatus {
    const now = nowInSeconds();
    const judged = judgeNames(definition, namesInUse(this.#others(definition)));
    const { acceptedNames, namesAccepted } = judged;
    const isRefused = judged.established.reason === 'Installing' && hasBadBundle(definition);
    const established = isRefused ? INVALID_BUNDLE : judged.established;
    const named = { ...definition.status, acceptedNames };
    named.conditions = withCondition(named.conditions, namesAccepted, now);
    named.conditions = withCondition(named.conditions, established, now);
    const approval = approvalCondition(definition);
    if (approval) named.conditions = withCondition(named.conditions, approval, now);
    if (!isDeepStrictEqual(named, definition.status) || established.reason !== 'Installing') return named;
    const message = 'the initial names have been accepted';
    const done = { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message } as const;
    return { ...named, conditions: withCondition(named.conditions, done, now) };
  }

  *#others({ spec, metadata }: Definition): Iterable<DefinitionNames> {
    for (const [name, { group, acceptedNames }] of this.#named)
      if (name !== metadata.name && group === spec.group && acceptedNames) yield acceptedNames;
    for (const {
      isCustom,
      isLive,
      group,
      plural,
      singular,
      shortNames,
      kind,
      listKind,
    } of this.#options.rest.storages.registry.all())
      if ((!isCustom || isLive) && group === spec.group)
        yield { plural, singular, shortNames: [...shortNames], kind, listKind };
  }

  /** What is stored now; undefined if somebody else was faster, whose change wakes us again. */
  async #writeStatus(
    current: StoredObject,
    definition: Definition,
    status: DefinitionStatus,
  ): Promise<StoredObject | undefined> {
    const before = definition as unknown as KubeObject;
    const after: KubeObject = { ...before, metadata: { ...before.metadata }, status: status as unknown as JsonObject };
    delete after.metadata.resourceVersion;
    const { schema, groupVersion } = this.#storage.resource;
    const managedFields = trackUpdate({
      before: before as unknown as JsonObject,
      after: after as unknown as JsonObject,
      schema,
      manager: 'kube-apiserver',
      apiVersion: groupVersion,
      subresource: 'status',
      now: nowInSeconds(),
    });
    if (managedFields) after.metadata.managedFields = managedFields;
    const outcome = await this.#storage.update(current, after);
    return 'stored' in outcome ? outcome.stored : undefined;
  }

  #cleanUp(name: string, definition: Definition, { revision }: StoredObject): void {
    if (this.#cleaning.has(name)) return;
    this.#cleaning.add(name);
    const { rest, log } = this.#options;
    const stored =
      this.#known.get(name)?.resources.stored ??
      customResources(definition, revision, { isTerminating: true }, this.#options.converterOf(definition)).stored;
    const { signal } = this.#stop;
    const task = removeInstances({ rest, definitions: this.#storage, name, stored, signal })
      .catch(async (err: unknown) => {
        if (signal.aborted) return;
        log(`cannot remove the objects of custom resource definition ${name}: ${(err as Error).message}; trying again`);
        await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
        this.#cleaning.delete(name);
        this.#wake(name);
      })
      .finally(() => this.#cleaning.delete(name));
    this.#run(task);
  }
}

const INVALID_BUNDLE = {
  type: 'Established',
  status: 'False',
  reason: 'InvalidCABundle',
  message: 'The conversion webhook CABundle is invalid',
} as const;

function namedOf(definition: Definition): Named {
  const { spec, status } = definition;
  return {
    group: spec.group,
    acceptedNames: status?.acceptedNames,
    areNamesAccepted: isConditionTrue(definition, 'NamesAccepted'),
  };
}
