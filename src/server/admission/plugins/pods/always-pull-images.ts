/**
 * AlwaysPullImages: every Pod pulls its images anew, so that nobody runs a private image that another has pulled. An update that
 * brings no image is left alone: it could not change how those are pulled that are there.
 */
import { invalid, type JsonObject, type KubeObject, unsupportedValue } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const LISTS = ['initContainers', 'containers', 'ephemeralContainers'];

export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  handles: concerns(['CREATE', 'UPDATE'], ['pods'], ['', 'ephemeralcontainers']),
  admit: (a) => {
    if (bringsNoImage(a)) return;
    const { object } = a;
    const spec = objectAt(object as JsonObject, 'spec');
    for (const list of LISTS) for (const container of objectsAt(spec, list)) container.imagePullPolicy = 'Always';
  },
  validate: (a) => {
    if (bringsNoImage(a)) return;
    const { object, resource, name } = a;
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

function bringsNoImage({ operation, object, oldObject }: AdmissionAttributes): boolean {
  if (operation !== 'UPDATE') return false;
  const known = new Set(imagesOf(oldObject!));
  return imagesOf(object!).every((image) => known.has(image));
}

function imagesOf(pod: KubeObject): string[] {
  const spec = objectAt(pod as JsonObject, 'spec');
  return LISTS.flatMap((list) => objectsAt(spec, list).map((container) => textAt(container, 'image')));
}
