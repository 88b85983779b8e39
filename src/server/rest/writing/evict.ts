/**
 * An eviction that was admitted: the budgets are asked, one of them is charged, the pod is told why it goes, and then it is
 * deleted as the eviction says.
 *
 * Nothing is written where the pod is not the one that is meant, or not as it was, and nothing in a dry run. Who takes the
 * last disruption of a budget at the same time as another is refused, whoever reads it first.
 */
import { isStatusError, type JsonObject, type KubeObject, plainError } from '../../../api/index.ts';
import { cloneJson } from '../../codec/index.ts';
import { allowEviction, markEvicted, takeDisruption } from '../../kinds/policy/eviction.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import { objectAt, textsAt } from '../../strategy/validation/fields.ts';
import type { DeleteOptions } from '../input/delete-options.ts';
import { nowInSeconds } from '../rest.ts';
import { checkPreconditions, deleteObject } from './delete.ts';
import { admittedBefore, mustRead, updateObject, type WriteRequest } from './write.ts';

/** Of pods that are about to start, and change meanwhile. */
const TRIES = 20;

/** How the eviction wants the pod deleted. A dry run may be asked for in the request or in the eviction. */
export function deletionIn(eviction: JsonObject, isDryRun: boolean): DeleteOptions {
  const given = objectAt(eviction, 'deleteOptions') ?? {};
  const said = textsAt(given, 'dryRun');
  if (isDryRun && said.length > 0 && (said.length !== 1 || said[0] !== 'All'))
    throw plainError(`Non-matching dry-run options in request and content: [All] and [${said.join(' ')}]`);
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = given as Partial<DeleteOptions>;
  return {
    isDryRun: isDryRun || said.length > 0,
    gracePeriodSeconds,
    propagationPolicy,
    orphanDependents,
    preconditions,
  };
}

export async function evictPod(asked: WriteRequest, deletion: DeleteOptions): Promise<void> {
  const request = { ...asked, options: { ...asked.options, isDryRun: deletion.isDryRun } };
  const { rest, context, storage, place } = request;
  for (let tries = TRIES; ; tries--) {
    const first = await mustRead(storage, place);
    const pod = storage.toObject(first);
    const { budget, ifChanged } = await allowEviction(pod, rest.strategyContext(context, place.subresource));
    if (budget) await charge(request, budget, () => checkPreconditions(storage, pod, deletion));
    const isPinned = ifChanged !== undefined && deletion.preconditions?.resourceVersion === undefined;
    const { resourceVersion = '' } = pod.metadata;
    const preconditions = { ...deletion.preconditions, resourceVersion };
    try {
      await remove(request, first, isPinned ? { ...deletion, preconditions } : deletion);
      return;
    } catch (err) {
      if (!isPinned || !isStatusError(err, 'Conflict')) throw err;
      if (ifChanged !== 'again') throw ifChanged;
      if (tries === 1) throw err;
    }
  }
}

async function remove(request: WriteRequest, first: StoredObject, deletion: DeleteOptions): Promise<void> {
  const { storage, place } = request;
  if (deletion.isDryRun) {
    await deleteObject(storage, place, deletion);
    return;
  }
  const change = (old: KubeObject) => {
    checkPreconditions(storage, old, deletion);
    const pod = cloneJson(old);
    markEvicted(pod, nowInSeconds());
    delete pod.metadata.resourceVersion;
    return pod;
  };
  const told = await updateObject(
    { ...request, place: { ...place, subresource: 'status' } },
    { current: first, change, admission: admittedBefore },
  );
  // It is as it was, but for what was just written into it.
  const { resourceVersion = '' } = ('bytes' in told ? storage.toObject(told as StoredObject) : told).metadata;
  const { preconditions } = deletion;
  const isPinned = preconditions?.resourceVersion !== undefined;
  await deleteObject(
    storage,
    place,
    isPinned ? { ...deletion, preconditions: { ...preconditions, resourceVersion } } : deletion,
  );
}

/** Writes down that one disruption fewer is allowed, as the budget is then; `check`: whether the pod may go by all else. */
async function charge(request: WriteRequest, { metadata }: KubeObject, check: () => void): Promise<void> {
  const storage = request.rest.storages.storageOf('policy', 'poddisruptionbudgets');
  const place = { namespace: metadata.namespace ?? '', name: metadata.name ?? '', subresource: 'status' };
  const current = await mustRead(storage, place);
  const take = (budget: KubeObject) => {
    const taken = takeDisruption(budget, request.place.name, nowInSeconds());
    check();
    return taken;
  };
  if (request.options.isDryRun) {
    take(storage.toObject(current));
    return;
  }
  await updateObject({ ...request, storage, place }, { current, change: take });
}
