/**
 * Pods as controllers make them from a template, and take them away: what all of them do in the same way.
 *
 * Always true: one turn of a controller makes or deletes so many Pods and no more, however many are wanted. The changes that
 * they are bring the next turn.
 */
import { type AnyObject, corev1, type Draft, isApiError } from '../../client/index.ts';
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

/**
 * The first of them: one, then twice as many each time that all were made, as one that is refused says that more would be.
 * False if the namespace takes nothing any more: then its owner is going as well. Throws the first other refusal.
 */
export async function createPods(
  owner: AnyObject,
  drafts: Iterable<Draft<corev1.Pod>>,
  context: ReconcileContext,
): Promise<boolean> {
  const left = drafts[Symbol.iterator]();
  for (let made = 0, size = 1; made < MOST_AT_ONCE; made += size, size *= 2) {
    const creates: Promise<corev1.Pod>[] = [];
    while (creates.length < Math.min(size, MOST_AT_ONCE - made)) {
      const next = left.next();
      if (next.done) break;
      creates.push(createAndTell(owner, next.value, context));
    }
    // All are waited for: the next turn may count on what this one has made.
    const refused = (await Promise.allSettled(creates)).filter((one) => one.status === 'rejected');
    const fault = refused.find(({ reason }) => !isRefusedByNamespace(reason));
    if (fault) throw fault.reason;
    if (refused.length > 0) return false;
    if (creates.length < size) break;
  }
  return true;
}

/** Without a word: what is said of it depends on who makes it. */
export function createPod(
  owner: AnyObject,
  draft: Draft<corev1.Pod>,
  { client, namespace }: ReconcileContext,
): Promise<corev1.Pod> {
  const inside = { ...draft, metadata: { ...draft.metadata, namespace } };
  return client.resource(corev1.pods).create(setControllerReference(owner, inside));
}

async function createAndTell(
  owner: AnyObject,
  draft: Draft<corev1.Pod>,
  context: ReconcileContext,
): Promise<corev1.Pod> {
  try {
    const made = await createPod(owner, draft, context);
    context.recorder.normal('SuccessfulCreate', `Created pod: ${made.metadata.name}`);
    return made;
  } catch (err) {
    if (!isRefusedByNamespace(err)) context.recorder.warning('FailedCreate', `Error creating: ${messageOf(err)}`);
    throw err;
  }
}

/** The first of them, each only if it is still the one that was judged. Throws the first refusal. */
export async function deletePods(victims: readonly corev1.Pod[], context: ReconcileContext): Promise<void> {
  const ends = victims.slice(0, MOST_AT_ONCE).map(async ({ metadata: { name, uid } }) => {
    const { client, recorder } = context;
    try {
      await client.resource(corev1.pods).delete(name, { preconditions: { uid } });
      recorder.normal('SuccessfulDelete', `Deleted pod: ${name}`);
    } catch (err) {
      if (!isApiError(err, 'NotFound')) recorder.warning('FailedDelete', `Error deleting: ${messageOf(err)}`);
      throw err;
    }
  });
  const refused = (await Promise.allSettled(ends)).find((one) => one.status === 'rejected');
  if (refused) throw refused.reason;
}

export function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
