/** DefaultTolerationSeconds: Pods stay five minutes on a node that is not ready or cannot be reached, unless they say else. */
import type { JsonObject } from '../../../../api/index.ts';
import { ensureObject, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const toleration: JsonObject = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };

export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  handles: concerns(['CREATE', 'UPDATE'], ['pods']),
  admit: ({ object }) => {
    const spec = ensureObject(object as JsonObject, 'spec');
    const tolerations = Array.isArray(spec.tolerations) ? (spec.tolerations as JsonObject[]) : [];
    const missing = TAINTS.filter((key) => !tolerations.some((one) => tolerates(one, key)));
    if (missing.length > 0) spec.tolerations = [...tolerations, ...missing.map((key) => ({ key, ...toleration }))];
  },
};

function tolerates(one: JsonObject, wanted: string): boolean {
  const [key, effect] = [textAt(one, 'key'), textAt(one, 'effect')];
  return (key === '' || key === wanted) && (effect === '' || effect === 'NoExecute');
}
