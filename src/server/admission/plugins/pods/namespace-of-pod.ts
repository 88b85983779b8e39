/** The namespace a Pod lies in, for plugins whose word is an annotation of it. */
import { type KubeObject, notFound } from '../../../../api/index.ts';
import { whenThere } from '../../../event-loop/when-there.ts';
import type { AdmissionAttributes } from '../../admission.ts';

export function withNamespace(
  { context, namespace }: AdmissionAttributes,
  next: (annotations: Readonly<Record<string, string>>) => void,
): void | Promise<void> {
  return whenThere(context.known('', 'namespaces', '', namespace), (found: KubeObject | undefined) => {
    if (!found) throw notFound({ group: '', plural: 'namespaces' }, namespace);
    next(found.metadata.annotations ?? {});
  });
}
