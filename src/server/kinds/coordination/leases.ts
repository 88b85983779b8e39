/** What keeps a cluster in order: leases. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { atLeast, moreThan } from '../../strategy/validation/checks.ts';
import { checksFrom } from '../../strategy/validation/field-table.ts';

/** Fields of an election among candidates, which is not switched on: what writers say there is forgotten. */
function forgetElection({ spec }: KubeObject): void {
  for (const field of ['strategy', 'preferredHolder']) delete (spec as JsonObject | undefined)?.[field];
}

export const leaseStrategy: Strategy = {
  prepareCreate: forgetElection,
  prepareUpdate: forgetElection,
  validate: checksFrom([
    ['spec.leaseDurationSeconds', moreThan(0)],
    ['spec.leaseTransitions', atLeast(0)],
  ]),
};
