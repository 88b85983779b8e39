/** TaintNodesByCondition: a new Node takes no Pods until somebody has seen it ready. */
import type { JsonObject } from '../../../api/index.ts';
import { ensureObject, objectsAt } from '../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { concerns } from '../concerns.ts';

const notReady: JsonObject = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  handles: concerns(['CREATE'], ['nodes']),
  admit: ({ object }) => {
    const spec = ensureObject(object as JsonObject, 'spec');
    const taints = objectsAt(spec, 'taints');
    if (!taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect))
      spec.taints = [...taints, { ...notReady }];
  },
};
