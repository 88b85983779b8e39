/** DenyServiceExternalIPs: Services get no external addresses any more; those they have may stay or go. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { objectAt, textsAt } from '../../strategy/validation/fields.ts';
import { type AdmissionPlugin, refuse } from '../admission.ts';
import { concerns } from '../concerns.ts';

export const denyServiceExternalIps: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  handles: concerns(['CREATE', 'UPDATE'], ['services']),
  validate: (a) => {
    const known = new Set(a.oldObject && addressesOf(a.oldObject));
    if (addressesOf(a.object!).some((address) => !known.has(address)))
      throw refuse(a, 'Use of external IPs is denied by admission control');
  },
};

function addressesOf(service: KubeObject): readonly string[] {
  return textsAt(objectAt(service as JsonObject, 'spec'), 'externalIPs');
}
