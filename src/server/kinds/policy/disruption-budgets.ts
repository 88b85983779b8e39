/** Disruption budgets: how many pods of a set must be left, or may be missing. One of both, not both. */
import { invalidValue, type JsonObject } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { atLeast, countOrPercent, labelSelector, notOver100Percent, oneOf } from '../../strategy/validation/checks.ts';
import { conditions } from '../../strategy/validation/conditions.ts';
import { checksFrom } from '../../strategy/validation/field-table.ts';
import { objectAt } from '../../strategy/validation/fields.ts';
import { internalForm } from '../../strategy/validation/internal-text.ts';

const checkBudget = checksFrom([
  ['spec.minAvailable', countOrPercent, notOver100Percent],
  ['spec.maxUnavailable', countOrPercent, notOver100Percent],
  ['spec.selector', labelSelector],
  ['spec.unhealthyPodEvictionPolicy', oneOf('AlwaysAllow', 'IfHealthyBudget')],
  ['status.conditions', conditions],
  ['status.disruptionsAllowed', atLeast(0)],
  ['status.currentHealthy', atLeast(0)],
  ['status.desiredHealthy', atLeast(0)],
  ['status.expectedPods', atLeast(0)],
]);

export const disruptionBudgetStrategy: Strategy = {
  validate: (budget) => {
    const spec = objectAt(budget as JsonObject, 'spec') ?? {};
    const hasBoth = spec.minAvailable !== undefined && spec.maxUnavailable !== undefined;
    return [
      ...(hasBoth
        ? [
            invalidValue(
              'spec',
              internalForm(spec, 'PodDisruptionBudgetSpec'),
              'minAvailable and maxUnavailable cannot be both set',
            ),
          ]
        : []),
      ...checkBudget(budget),
    ];
  },
};
