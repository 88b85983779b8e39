/**
 * Namespaces: each carries its name as a label, and a finalizer in its spec that only the `finalize` subresource may
 * take away. An object of this kind is gone for good when that one and those of its metadata are.
 */
import {
  checkQualifiedName,
  checkStandardFinalizer,
  forbidden,
  invalidValue,
  type JsonObject,
  type KubeObject,
} from '../../api/index.ts';
import { ensureObject, objectAt, textAt, textsAt } from './fields.ts';
import type { KindRules } from './kind-rules.ts';

const nameLabel = 'kubernetes.io/metadata.name';
const lasting: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

export const namespaceRules: KindRules = {
  setDefaults: setNameLabel,
  prepareCreate: (namespace) => {
    setNameLabel(namespace);
    namespace.status = { phase: 'Active' };
    const finalizers = textsAt(objectAt(namespace as JsonObject, 'spec'), 'finalizers');
    if (!finalizers.includes('kubernetes')) namespace.spec = { finalizers: [...finalizers, 'kubernetes'] };
  },
  prepareUpdate: (namespace, old, { subresource }) => {
    setNameLabel(namespace);
    if (subresource === 'status') return;
    namespace.status = structuredClone(old.status);
    if (subresource === 'finalize') dropEmptyFinalizers(namespace);
    else namespace.spec = structuredClone(old.spec);
  },
  validate: (namespace) =>
    textsAt(objectAt(namespace as JsonObject, 'spec'), 'finalizers').flatMap((finalizer) =>
      [...checkQualifiedName(finalizer), ...checkStandardFinalizer(finalizer)].map((problem) =>
        invalidValue('spec.finalizers', finalizer, problem),
      ),
    ),
};

/** Throws if the namespace is one of those that stay. */
export function refuseToDelete(name: string): void {
  if (lasting.has(name))
    throw forbidden({ group: '', plural: 'namespaces' }, name, 'this namespace may not be deleted');
}

/** What a delete does to a namespace besides setting its deletionTimestamp. */
export function markTerminating(namespace: KubeObject): void {
  ensureObject(namespace as JsonObject, 'status').phase = 'Terminating';
}

/** Whether nothing holds a namespace that is being deleted any more. */
export function isReadyToGo(namespace: KubeObject): boolean {
  const held = textsAt(objectAt(namespace as JsonObject, 'spec'), 'finalizers').length > 0;
  return !held && (namespace.metadata.finalizers?.length ?? 0) === 0;
}

export function isTerminating(namespace: KubeObject): boolean {
  return textAt(objectAt(namespace as JsonObject, 'status'), 'phase') === 'Terminating';
}

function setNameLabel(namespace: KubeObject): void {
  const { name } = namespace.metadata;
  if (name && namespace.metadata.labels?.[nameLabel] !== name)
    namespace.metadata.labels = { ...namespace.metadata.labels, [nameLabel]: name };
}

function dropEmptyFinalizers(namespace: KubeObject): void {
  const spec = ensureObject(namespace as JsonObject, 'spec');
  if (textsAt(spec, 'finalizers').length === 0) delete spec.finalizers;
}
