/** AlwaysPullImages: every Pod pulls its images anew, so that nobody runs a private image that another has pulled. */
import { invalid, type JsonObject, unsupportedValue } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const LISTS = ['initContainers', 'containers', 'ephemeralContainers'];

export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  handles: concerns(['CREATE', 'UPDATE'], ['pods'], ['', 'ephemeralcontainers']),
  admit: ({ object }) => {
    const spec = objectAt(object as JsonObject, 'spec');
    for (const list of LISTS) for (const container of objectsAt(spec, list)) container.imagePullPolicy = 'Always';
  },
  validate: ({ object, resource, name }) => {
    const spec = objectAt(object as JsonObject, 'spec');
    const faults = LISTS.flatMap((list) =>
      objectsAt(spec, list).flatMap((container, index) => {
        const policy = textAt(container, 'imagePullPolicy');
        return policy === 'Always'
          ? []
          : [unsupportedValue(`spec.${list}[${index}].imagePullPolicy`, policy, ['Always'])];
      }),
    );
    if (faults.length > 0) throw invalid(resource, name, faults);
  },
};
