/** The status of kinds that keep pods running: numbers that are never negative and never more than all there are. */
import { type FieldError, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { atLeast } from '../../strategy/validation/checks.ts';
import type { Check } from '../../strategy/validation/field-table.ts';
import { numberAt, objectAt } from '../../strategy/validation/fields.ts';

const notNegative: Check = atLeast(0);

type CountRules = {
  /** Fields of the status that count something. */
  readonly counts: readonly string[];
  /** `[smaller, larger, how refusals name the larger]`. */
  readonly atMost?: readonly (readonly [string, string, string])[];
};

type StatusCheck = (object: KubeObject, old: KubeObject) => FieldError[];

function statusChecks({ counts, atMost = [] }: CountRules): StatusCheck {
  return (object, old) => {
    const status = objectAt(object as JsonObject, 'status') ?? {};
    const errors = counts.flatMap((field) => notNegative(status[field] ?? undefined, `status.${field}`, status));
    for (const [smaller, larger, shown] of atMost) {
      const [small, large] = [numberAt(status, smaller) ?? 0, numberAt(status, larger) ?? 0];
      if (small > large) errors.push(invalidValue(`status.${smaller}`, small, `cannot be greater than ${shown}`));
    }
    const before = numberAt(objectAt(old as JsonObject, 'status'), 'collisionCount');
    const after = numberAt(status, 'collisionCount');
    if (counts.includes('collisionCount') && before !== undefined && (after ?? -1) < before)
      errors.push(invalidValue('status.collisionCount', after ?? 0, 'cannot be decremented'));
    return errors;
  };
}

const ofAll = (field: string) => [field, 'replicas', 'status.replicas'] as const;

export const replicaSetStatus: StatusCheck = statusChecks({
  counts: [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ],
  atMost: [
    ofAll('fullyLabeledReplicas'),
    ofAll('readyReplicas'),
    ofAll('availableReplicas'),
    ['availableReplicas', 'readyReplicas', 'readyReplicas'],
  ],
});

export const deploymentStatus: StatusCheck = statusChecks({
  counts: [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ],
  atMost: [
    ofAll('updatedReplicas'),
    ofAll('readyReplicas'),
    ofAll('availableReplicas'),
    ['availableReplicas', 'readyReplicas', 'readyReplicas'],
  ],
});

export const statefulSetStatus: StatusCheck = statusChecks({
  counts: [
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'observedGeneration',
    'collisionCount',
  ],
  atMost: [
    ofAll('readyReplicas'),
    ofAll('currentReplicas'),
    ofAll('updatedReplicas'),
    ofAll('availableReplicas'),
    ['availableReplicas', 'readyReplicas', 'status.readyReplicas'],
  ],
});

export const daemonSetStatus: StatusCheck = statusChecks({
  counts: [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ],
});
