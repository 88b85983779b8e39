/**
 * ControllerRevisions: every template that a StatefulSet or DaemonSet has had, as objects that `kubectl rollout history` and
 * `undo` read. A revision is named after a hash of its template, so the same template always leads to the same one; going
 * back to an earlier one gives it the highest number again.
 */
import { createHash } from 'node:crypto';
import { greatestOf } from '../../api/index.ts';
import { type AnyObject, appsv1, type corev1, isApiError, mergePatch } from '../../client/index.ts';
import { controllerOf, type ReconcileContext, setControllerReference } from '../../controller/index.ts';
import { byController } from '../pods/indexes.ts';

export const REVISION_LABEL = 'controller-revision-hash';

export const revisionsOwned: {
  readonly resource: typeof appsv1.controllerRevisions;
  readonly indexers: { readonly byController: typeof byController };
} = { resource: appsv1.controllerRevisions, indexers: { byController } };

type Owner = AnyObject & { spec: { template: corev1.PodTemplateSpec; revisionHistoryLimit?: number } };

/** The name of the revision that the owner's template is, after it was made, or numbered as the newest. */
export async function currentRevision(owner: Owner, context: ReconcileContext): Promise<string> {
  const known = revisionsOf(owner, context);
  const hash = hashOf(owner.spec.template);
  const name = `${owner.metadata.name}-${hash}`;
  const newest = Math.max(0, greatestOf(known.map(({ revision }) => revision)));
  const found = known.find(({ metadata }) => metadata.name === name);
  const revisions = context.client.resource(appsv1.controllerRevisions);
  if (found && found.revision < newest) await revisions.patch(name, mergePatch({ revision: newest + 1 }));
  if (!found) {
    const labels = { ...owner.spec.template.metadata?.labels, [REVISION_LABEL]: hash };
    const data = { spec: { template: { ...owner.spec.template, $patch: 'replace' } } };
    const draft = { metadata: { name, namespace: context.namespace, labels }, data, revision: newest + 1 };
    await revisions.create(setControllerReference(owner, draft)).catch(async (err: unknown) => {
      if (!isApiError(err, 'AlreadyExists')) throw err;
      const there = await revisions.find(name); // of an owner of this name before, which left it behind
      if (there && !controllerOf(there)) await revisions.update(setControllerReference(owner, there));
    });
  }
  return name;
}

/** Those that nothing has any more and that are beyond the owner's limit, oldest first. */
export async function forgetRevisions(
  owner: Owner,
  inUse: ReadonlySet<string>,
  context: ReconcileContext,
): Promise<void> {
  const { revisionHistoryLimit = 10 } = owner.spec;
  const unused = revisionsOf(owner, context)
    .filter(({ metadata }) => !inUse.has(metadata.name))
    .sort((a, b) => a.revision - b.revision);
  for (const { metadata } of unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit)))
    await context.client
      .resource(appsv1.controllerRevisions)
      .delete(metadata.name, { preconditions: { uid: metadata.uid } });
}

/** The template that an earlier revision stands for. */
export function templateOf(owner: Owner, name: string, context: ReconcileContext): corev1.PodTemplateSpec | undefined {
  const found = revisionsOf(owner, context).find(({ metadata }) => metadata.name === name);
  const data = found?.data as { spec?: { template?: corev1.PodTemplateSpec & { $patch?: string } } } | undefined;
  if (!data?.spec?.template) return undefined;
  const { $patch: _, ...template } = data.spec.template;
  return template;
}

/** What Pods of a revision carry as a label. */
export function labelOf(owner: AnyObject, revision: string): string {
  return revision.slice(owner.metadata.name.length + 1);
}

function revisionsOf(owner: AnyObject, { cache }: ReconcileContext): appsv1.ControllerRevision[] {
  return cache.of(appsv1.controllerRevisions).by('byController', owner.metadata.uid);
}

/** The same text for the same template, in whatever order its fields came. */
export function hashOf(template: unknown): string {
  const text = JSON.stringify(template, (_name, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
