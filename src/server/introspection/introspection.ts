/**
 * The group `introspection.longwatch.dev`: what the server knows of itself, as objects that are made when somebody asks.
 *
 *   open watches · watch caches · 410s · flow control ─► live storages ─► the resource API, as any other
 *   the store's history of one object ─► handleHistory
 *
 * Always true: while nobody looks it costs nothing but what a watch counts of itself. Rights are those of any resource.
 */
import { methodNotAllowed, resourceNotFound } from '../../api/index.ts';
import type { FlowController } from '../flow-control/flow-controller.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { Rest } from '../rest/rest.ts';
import type { LiveItem } from '../storage/live/live-storage.ts';
import { type Expirations, expirationKind } from './expirations.ts';
import { flowLevelKind, flowLevelSource } from './flow-levels.ts';
import { historyKind } from './history/history-kind.ts';
import { handleHistory } from './history/object-histories.ts';
import { GROUP, resourceOf, VERSION } from './live-kind.ts';
import { watchCacheKind, watchCacheSource } from './watch-caches.ts';
import { type WatchesOfAll, watchKind, watchSource, wholeWatchSource } from './watches.ts';

export type IntrospectionOptions = {
  readonly rest: Rest;
  readonly expirations: Expirations;
  /** Undefined while flow control is off, or not yet there. */
  readonly flow: () => FlowController | undefined;
  /** Which thread of a server this is. */
  readonly worker: number;
  /** Where the watches and 410s of all threads are told; undefined: there is only this one. */
  readonly whole: (WatchesOfAll & { expirations(): Promise<readonly LiveItem[]> }) | undefined;
};

const histories = resourceOf(historyKind);

/** Makes the group known; what is returned answers what the resource API does not. False: not asked for here. */
export function serveIntrospection(
  options: IntrospectionOptions,
): (context: RequestContext) => boolean | Promise<boolean> {
  const { rest, expirations, flow, worker, whole } = options;
  const { storages } = rest;
  const watches = whole ? wholeWatchSource(whole) : watchSource(rest.openWatches, worker);
  storages.serveLive(resourceOf(watchKind), watches);
  storages.serveLive(
    resourceOf(watchCacheKind),
    watchCacheSource(() => storages.cachers()),
  );
  storages.serveLive(resourceOf(expirationKind), whole ? { items: () => whole.expirations() } : expirations);
  storages.serveLive(resourceOf(flowLevelKind), flowLevelSource(flow));
  storages.registry.add(histories);
  return (context) => {
    const { requestInfo } = context;
    if (requestInfo.kind !== 'resource' || requestInfo.group !== GROUP || requestInfo.version !== VERSION) return false;
    if (requestInfo.resource !== histories.plural) return false;
    const { verb, name, namespace, subresource } = requestInfo;
    if (subresource !== '') throw resourceNotFound();
    if (verb !== 'get' || name === '') throw methodNotAllowed(verb, histories);
    return handleHistory(rest, context, histories, { namespace, name }).then(() => true);
  };
}
