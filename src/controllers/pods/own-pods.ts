/** Pods as controllers make them from a template, and take them away: what all of them do in the same way. */
import { type AnyObject, corev1, type Draft } from '../../client/index.ts';
import { type ReconcileContext, setControllerReference } from '../../controller/index.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';

/** The template with what the controller adds to it; named by its own name, or `prefix-` and something that is free. */
export function podFrom(
  template: corev1.PodTemplateSpec,
  added: {
    readonly name?: string;
    readonly prefix?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly spec?: Partial<corev1.PodSpec>;
  },
): Draft<corev1.Pod> {
  const { metadata = {}, spec } = template;
  const { name, prefix, finalizers } = added;
  return {
    metadata: {
      ...metadata,
      ...(name !== undefined ? { name } : { generateName: `${prefix}-` }),
      labels: { ...metadata.labels, ...added.labels },
      annotations: { ...metadata.annotations, ...added.annotations },
      ...(finalizers && { finalizers: [...(metadata.finalizers ?? []), ...finalizers] }),
    },
    spec: { ...(spec as corev1.PodSpec), ...added.spec },
  };
}

/** False if the namespace takes nothing any more: then its owner is going as well. */
export async function createPods(
  owner: AnyObject,
  drafts: readonly Draft<corev1.Pod>[],
  { client, namespace }: ReconcileContext,
): Promise<boolean> {
  try {
    await Promise.all(
      drafts.map((draft) => {
        const inside = { ...draft, metadata: { ...draft.metadata, namespace } };
        return client.resource(corev1.pods).create(setControllerReference(owner, inside));
      }),
    );
    return true;
  } catch (err) {
    if (!isRefusedByNamespace(err)) throw err;
    return false;
  }
}

/** Each only if it is still the one that was judged. */
export async function deletePods(victims: readonly corev1.Pod[], { client }: ReconcileContext): Promise<void> {
  await Promise.all(
    victims.map(({ metadata: { name, uid } }) => client.resource(corev1.pods).delete(name, { preconditions: { uid } })),
  );
}
