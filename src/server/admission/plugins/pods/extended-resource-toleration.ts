/**
 * ExtendedResourceToleration: a Pod that asks for devices of some kind may run where these are, on nodes that their own name
 * keeps others from.
 */
import type { JsonObject } from '../../../../api/index.ts';
import { ensureObject, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { isExtendedResource } from '../../../strategy/validation/resource-names.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  handles: concerns(['CREATE', 'UPDATE'], ['pods']),
  admit: ({ object }) => {
    const spec = ensureObject(object as JsonObject, 'spec');
    const asked = [...objectsAt(spec, 'containers'), ...objectsAt(spec, 'initContainers')].flatMap((container) =>
      Object.keys(objectAt(objectAt(container, 'resources'), 'requests') ?? {}),
    );
    for (const key of [...new Set(asked.filter(isExtendedResource))].sort())
      spec.tolerations = withToleration(objectsAt(spec, 'tolerations'), key);
  },
};

/** In the place of one that says the same for some time only. */
function withToleration(tolerations: readonly JsonObject[], key: string): JsonObject[] {
  const toleration = { key, operator: 'Exists', effect: 'NoSchedule' };
  const isIt = (one: JsonObject) =>
    Object.entries({ ...toleration, value: '' }).every(([field, value]) => textAt(one, field) === value);
  if (!tolerations.some(isIt)) return [...tolerations, toleration];
  return tolerations.map((one) => (isIt(one) ? toleration : one));
}
