/**
 * Pods as controllers make them from a template, and take them away: what all of them do in the same way.
 *
 * Always true: one turn of a controller makes or deletes so many Pods and no more, however many are wanted. The changes that
 * they are bring the next turn.
 */
import { type AnyObject, corev1, type Draft } from '../../client/index.ts';
import { type ReconcileContext, setControllerReference } from '../../controller/index.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';

/** As many as kube-controller-manager does at a time. */
export const MOST_AT_ONCE = 500;

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

/** The first of them. False if the namespace takes nothing any more: then its owner is going as well. */
export async function createPods(
  owner: AnyObject,
  drafts: Iterable<Draft<corev1.Pod>>,
  { client, namespace }: ReconcileContext,
): Promise<boolean> {
  const creates: Promise<corev1.Pod>[] = [];
  for (const draft of drafts) {
    const inside = { ...draft, metadata: { ...draft.metadata, namespace } };
    creates.push(client.resource(corev1.pods).create(setControllerReference(owner, inside)));
    if (creates.length === MOST_AT_ONCE) break;
  }
  // All are waited for: the next turn may count on what this one has made.
  const refused = (await Promise.allSettled(creates)).find((one) => one.status === 'rejected');
  if (refused && !isRefusedByNamespace(refused.reason)) throw refused.reason;
  return refused === undefined;
}

/** The first of them, each only if it is still the one that was judged. */
export async function deletePods(victims: readonly corev1.Pod[], { client }: ReconcileContext): Promise<void> {
  await Promise.all(
    victims
      .slice(0, MOST_AT_ONCE)
      .map(({ metadata: { name, uid } }) => client.resource(corev1.pods).delete(name, { preconditions: { uid } })),
  );
}
