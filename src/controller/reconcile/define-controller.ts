/**
 * What a controller is: what it looks after, what concerns it besides, and what it does about it. Only a description:
 * nothing runs before a Manager does.
 *
 *     const web = defineController({
 *       name: 'web',
 *       for: websites,
 *       owns: [deployments, { resource: services, where: generationChanged }],
 *       watches: [{ resource: nodes, map: (node, { cache }) => cache.of(websites).by('byNode', node.metadata.name) }],
 *       async reconcile(website, { client, cache }) {
 *         if (!website) return; // it is gone
 *         ...
 *         return requeueAfter('30s');
 *       },
 *     });
 *
 * `reconcile` gets the object as the cache has it now, not the event: undefined when it is gone. It runs at least
 * once after every event that passed, never twice at a time for one key.
 */

import { labelSelectorText, resourceName } from '../../client/advanced.ts';
import type { AnyObject, Indexers, InformerOptions, Resource } from '../../client/index.ts';
import type { WorkQueueOptions } from '../queue/work-queue.ts';
import type { Mapper } from './mappers.ts';
import type { Predicate } from './predicates.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import type { ReconcileResult } from './requeue.ts';

/** Which objects of a kind, and what is kept of them. In all namespaces, unless this or the manager names some. */
export type Selected<T extends AnyObject> = Pick<
  InformerOptions<T, Indexers<T>>,
  'namespace' | 'allNamespaces' | 'labelSelector' | 'fieldSelector' | 'shardSelector' | 'transform'
> & {
  readonly resource: Resource<T>;
  /** For `cache.of(resource).by(name, value)`. */
  readonly indexers?: Indexers<T> | undefined;
};

export type Watched<T extends AnyObject> = Selected<T> & {
  /** Which events count; all without it. */
  readonly where?: Predicate<T> | undefined;
  /** Of the keys that its events add: 0. What was there from the beginning comes after everything else (-100). */
  readonly priority?: number | undefined;
  /** Every object is delivered again, as an update that changed nothing, this often: never. */
  readonly resyncMs?: number | undefined;
  /** For its events, instead of the controller's own. */
  readonly debounceMs?: number | undefined;
};

export type MappedWatch<T extends AnyObject> = Watched<T> & {
  /** Whose reconcile it concerns. */
  readonly map: Mapper<T>;
};

export type Reconcile<T extends AnyObject> = (
  /** As the cache has it; undefined if it is gone. */
  object: T | undefined,
  context: ReconcileContext,
) => ReconcileResult | Promise<ReconcileResult>;

export type ControllerOptions = {
  /** In metrics, logs and events. */
  readonly name: string;
  /** How many keys at a time: 4. */
  readonly concurrency?: number | undefined;
  /** After which a reconcile's signal fires; never without it. Waiting for its own writes counts. */
  readonly timeoutMs?: number | undefined;
  readonly queue?: Pick<WorkQueueOptions<string>, 'retries' | 'ageing' | 'limit' | 'causeLimit'> | undefined;
  /** false: runs whether its manager leads or not. */
  readonly needsLeadership?: boolean | undefined;
  /** How long a reconcile waits for the cache to have what the one before wrote: 5 s. 0: not at all. */
  readonly ownWritesTimeoutMs?: number | undefined;
  /**
   * A key that keeps being caused is reconciled once it was quiet for this long, at the latest ten times that after the
   * first cause, with all of them: at once without it. Retries and `requeueAfter` are not put off.
   */
  readonly debounceMs?: number | undefined;
};

/** With every shorthand written out. */
export type ControllerDefinition<T extends AnyObject = AnyObject> = ControllerOptions & {
  readonly for: Watched<T>;
  readonly owns: readonly Watched<AnyObject>[];
  readonly watches: readonly MappedWatch<AnyObject>[];
  readonly reads: readonly Selected<AnyObject>[];
  readonly reconcile: Reconcile<T>;
};

type Brief<T extends AnyObject> = Resource<T> | Watched<T>;

export type ControllerDescription<
  T extends AnyObject,
  Owned extends readonly AnyObject[],
  Mapped extends readonly AnyObject[],
  Read extends readonly AnyObject[],
> = ControllerOptions & {
  /** The kind whose objects are reconciled. */
  readonly for: Brief<T>;
  /** Kinds whose objects it controls by owner reference: a change to one is a cause for its owner. */
  readonly owns?: { readonly [K in keyof Owned]: Brief<Owned[K]> } | undefined;
  /** Other kinds, and whom they concern. */
  readonly watches?: { readonly [K in keyof Mapped]: MappedWatch<Mapped[K]> } | undefined;
  /** Kinds that are only read, from `context.cache`: their changes are no cause. */
  readonly reads?: { readonly [K in keyof Read]: Resource<Read[K]> | Selected<Read[K]> } | undefined;
  readonly reconcile: Reconcile<T>;
};

export function defineController<
  T extends AnyObject,
  const Owned extends readonly AnyObject[] = [],
  const Mapped extends readonly AnyObject[] = [],
  const Read extends readonly AnyObject[] = [],
>(description: ControllerDescription<T, Owned, Mapped, Read>): ControllerDefinition<T> {
  const { name, concurrency = 4 } = description;
  if (!name) throw new TypeError('Cannot define a controller: its name is empty');
  if (!(Number.isInteger(concurrency) && concurrency > 0))
    throw new RangeError(`Cannot define controller "${name}": its concurrency is ${concurrency}`);
  const definition: ControllerDefinition<T> = {
    ...description,
    for: written(description.for),
    owns: ((description.owns ?? []) as readonly Brief<AnyObject>[]).map(written),
    watches: (description.watches ?? []) as unknown as readonly MappedWatch<AnyObject>[],
    reads: ((description.reads ?? []) as readonly Brief<AnyObject>[]).map(written),
  };
  const { owns, watches, reads } = definition;
  for (const { debounceMs = 0 } of [definition, definition.for, ...owns, ...watches])
    if (!(debounceMs >= 0)) throw new RangeError(`Cannot define controller "${name}": its debounceMs is ${debounceMs}`);
  checkSelections(name, [definition.for as unknown as Selected<AnyObject>, ...owns, ...watches, ...reads]);
  return definition;
}

/** A kind may be declared several times, but in one selection: else nobody could say which of them the cache reads. */
function checkSelections(controller: string, all: readonly Selected<AnyObject>[]): void {
  const known = new Map<string, Selected<AnyObject>>();
  for (const selected of all) {
    const name = resourceName(selected.resource);
    const first = known.get(name) ?? selected;
    known.set(name, first);
    if (selectionText(first) !== selectionText(selected) || first.transform !== selected.transform)
      throw new TypeError(`Cannot define controller "${controller}": it declares ${name} in two different selections`);
  }
}

function selectionText(selected: Selected<AnyObject>): string {
  const { namespace, allNamespaces, labelSelector, fieldSelector, shardSelector } = selected;
  const fields = fieldSelector && 'requirements' in Object(fieldSelector) ? String(fieldSelector) : fieldSelector;
  return JSON.stringify([
    namespace ?? null,
    allNamespaces ?? false,
    labelSelectorText(labelSelector) ?? '',
    fields ?? '',
    shardSelector ?? '',
  ]);
}

function written<T extends AnyObject>(brief: Brief<T>): Watched<T> {
  return 'resource' in brief ? brief : { resource: brief };
}
