/**
 * DefaultStorageClass and DefaultIngressClass: a claim or an Ingress that names no class gets the one that an annotation
 * marks as the default; of several the youngest, then the first by name. An empty name is an answer.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { ensureObject } from '../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { concerns } from '../concerns.ts';

type ClassChoice = {
  readonly name: string;
  /** What gets the class, and in which field. */
  readonly resource: string;
  readonly field: string;
  /** Where the class was named before there was a field. */
  readonly annotation: string;
  readonly classes: readonly [group: string, plural: string];
  readonly isDefault: string;
};

export const defaultStorageClass: AdmissionPlugin = chooseClass({
  name: 'DefaultStorageClass',
  resource: 'persistentvolumeclaims',
  field: 'storageClassName',
  annotation: 'volume.beta.kubernetes.io/storage-class',
  classes: ['storage.k8s.io', 'storageclasses'],
  isDefault: 'storageclass.kubernetes.io/is-default-class',
});

export const defaultIngressClass: AdmissionPlugin = chooseClass({
  name: 'DefaultIngressClass',
  resource: 'ingresses.networking.k8s.io',
  field: 'ingressClassName',
  annotation: 'kubernetes.io/ingress.class',
  classes: ['networking.k8s.io', 'ingressclasses'],
  isDefault: 'ingressclass.kubernetes.io/is-default-class',
});

function chooseClass({ name, resource, field, annotation, classes, isDefault }: ClassChoice): AdmissionPlugin {
  return {
    name,
    handles: concerns(['CREATE'], [resource]),
    admit: async ({ object, context }) => {
      const spec = ensureObject(object as JsonObject, 'spec');
      if (spec[field] !== undefined || object!.metadata.annotations?.[annotation] !== undefined) return;
      const known = await context.list(...classes);
      const chosen = youngest(known.filter(({ metadata }) => metadata.annotations?.[isDefault] === 'true'));
      if (chosen?.metadata.name) spec[field] = chosen.metadata.name;
    },
  };
}

function youngest(classes: readonly KubeObject[]): KubeObject | undefined {
  const time = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? '';
  return [...classes].sort((a, b) =>
    time(a) === time(b) ? (a.metadata.name! < b.metadata.name! ? -1 : 1) : time(a) > time(b) ? -1 : 1,
  )[0];
}
