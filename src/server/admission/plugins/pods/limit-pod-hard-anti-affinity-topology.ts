/** LimitPodHardAntiAffinityTopology: Pods may insist on a node without certain others, on nothing larger than a node. */
import { forbidden, type JsonObject } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const NODE = 'kubernetes.io/hostname';

export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  handles: concerns(['CREATE', 'UPDATE'], ['pods']),
  validate: ({ object, resource }) => {
    const affinity = objectAt(objectAt(object as JsonObject, 'spec'), 'affinity');
    const terms = objectsAt(objectAt(affinity, 'podAntiAffinity'), 'requiredDuringSchedulingIgnoredDuringExecution');
    const other = terms.map((term) => textAt(term, 'topologyKey')).find((key) => key !== NODE);
    if (other === undefined) return;
    const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other} but only key ${NODE} is allowed`;
    throw forbidden(resource, object!.metadata.name ?? '', why);
  },
};
