/**
 * The `eviction` subresource: a delete that asks the disruption budgets first.
 *
 * Whether a budget allows it is read from what its controller wrote into its status, where the eviction is written down
 * before the pod is deleted. A pod that does not run disturbs nobody, and neither does one that is not ready while enough
 * others are: those go only as they were when that was found out.
 */
import {
  forbidden,
  type JsonObject,
  type KubeObject,
  plainError,
  type StatusError,
  tooManyRequests,
} from '../../../api/index.ts';
import type { StrategyContext } from '../../strategy/strategy.ts';
import { selects } from '../../strategy/validation/checks.ts';
import { ensureObject, numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';

const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
const CAUSE = 'DisruptionBudget';
const limitDisrupted = 2000;

export type Permission = {
  /** One of its disruptions is to be taken before the pod goes; absent if no budget is touched. */
  readonly budget?: KubeObject;
  /** What to tell where the pod has changed meanwhile and might be ready now; `again`: to ask once more. */
  readonly ifChanged?: StatusError | 'again';
};

/** Throws an error without a reason if several budgets claim the pod. */
export async function allowEviction(pod: KubeObject, { list }: StrategyContext): Promise<Permission> {
  const phase = textAt(objectAt(pod as JsonObject, 'status'), 'phase');
  if (phase === 'Succeeded' || phase === 'Failed' || pod.metadata.deletionTimestamp) return {};
  if (phase === 'Pending') return { ifChanged: 'again' };
  const budgets = await list('policy', 'poddisruptionbudgets', pod.metadata.namespace);
  const matching = budgets.filter((budget) =>
    selects(objectAt(objectAt(budget as JsonObject, 'spec'), 'selector'), pod.metadata.labels),
  );
  const [budget, ...others] = matching;
  if (!budget) return {};
  if (others.length > 0)
    throw plainError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  if (!isReady(pod) && letsUnhealthyGo(budget)) return { ifChanged: isBeingProcessed(budget.metadata.name) };
  return { budget };
}

function isReady(pod: KubeObject): boolean {
  const conditions = objectsAt(objectAt(pod as JsonObject, 'status'), 'conditions');
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function letsUnhealthyGo(budget: KubeObject): boolean {
  if (textAt(objectAt(budget as JsonObject, 'spec'), 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const status = objectAt(budget as JsonObject, 'status');
  const [healthy, wanted] = [numberAt(status, 'currentHealthy') ?? 0, numberAt(status, 'desiredHealthy') ?? 0];
  return healthy >= wanted && wanted > 0;
}

/** The budget with one disruption fewer; throws a TooManyRequests if it allows none. */
export function takeDisruption(old: KubeObject, podName: string, now: string): KubeObject {
  const { name = '', generation = 0 } = old.metadata;
  const budget = structuredClone(old);
  const status = ensureObject(budget as JsonObject, 'status');
  if ((numberAt(status, 'observedGeneration') ?? 0) < generation) throw isBeingProcessed(name);
  const allowed = numberAt(status, 'disruptionsAllowed') ?? 0;
  const what = { group: 'policy', plural: 'poddisruptionbudget' }; // so kube-apiserver calls it here
  if (allowed < 0) throw forbidden(what, name, 'pdb disruptions allowed is negative');
  const disrupted = ensureObject(status, 'disruptedPods');
  if (Object.keys(disrupted).length > limitDisrupted)
    throw forbidden(what, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  if (allowed === 0) {
    const [healthy, wanted] = [numberAt(status, 'currentHealthy') ?? 0, numberAt(status, 'desiredHealthy') ?? 0];
    const failed = objectsAt(status, 'conditions').find(({ reason }) => reason === 'SyncFailed');
    const idle = `The disruption budget ${name} does not allow evicting pods currently`;
    const short = `The disruption budget ${name} needs ${wanted} healthy pods and has ${healthy} currently`;
    const why = failed
      ? `${idle} because it failed sync: ${textAt(failed, 'message')}`
      : healthy <= wanted
        ? short
        : idle;
    throw tooManyRequests(refusal, 0, [{ reason: CAUSE, message: why }]);
  }
  status.disruptionsAllowed = allowed - 1;
  disrupted[podName] = now;
  if (allowed === 1) {
    const said = { status: 'False', observedGeneration: status.observedGeneration ?? 0, lastTransitionTime: now };
    setCondition(status, { type: 'DisruptionAllowed', ...said, reason: 'InsufficientPods', message: '' });
  }
  return budget;
}

function isBeingProcessed(budget = ''): StatusError {
  const message = `The disruption budget ${budget} is still being processed by the server.`;
  return tooManyRequests(refusal, 10, [{ reason: CAUSE, message }]);
}

/** Says in the pod why it goes. */
export function markEvicted(pod: KubeObject, now: string): void {
  const why = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
  const times = { lastProbeTime: null, lastTransitionTime: now };
  setCondition(ensureObject(pod as JsonObject, 'status'), {
    type: 'DisruptionTarget',
    status: 'True',
    ...times,
    ...why,
  });
}

/** In the place of the one of its type; when that was of the same status, it has been so since then. */
function setCondition(status: JsonObject, condition: JsonObject): void {
  const conditions = objectsAt(status, 'conditions');
  const before = conditions.find(({ type }) => type === condition.type);
  const isSame = before?.status === condition.status && before?.lastTransitionTime !== undefined;
  const next = isSame ? { ...condition, lastTransitionTime: before?.lastTransitionTime ?? null } : condition;
  status.conditions = before ? conditions.map((one) => (one === before ? next : one)) : [...conditions, next];
}
