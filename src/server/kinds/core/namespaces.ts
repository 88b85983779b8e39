/**
 * Namespaces: each carries its name as a label, and a finalizer in its spec that only the `finalize` subresource may
 * take away. An object of this kind is gone for good when that one and those of its metadata are.
 */

import {
  checkQualifiedName,
  checkStandardFinalizer,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { faultsOf } from '../../strategy/validation/append-all.ts';
import { ensureObject, fill, objectAt, textAt, textsAt } from '../../strategy/validation/fields.ts';

const nameLabel = 'kubernetes.io/metadata.name';

export const namespaceStrategy: Strategy = {
  setDefaults: (namespace) => {
    setNameLabel(namespace);
    fill(ensureObject(namespace as JsonObject, 'status'), { phase: 'Active' });
  },
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
  validate: (namespace, old, context) => {
    if (context?.subresource === 'status') return validatePhase(namespace);
    const isFinalize = context?.subresource === 'finalize';
    if (old && !isFinalize) return []; // only its metadata may change
    return faultsOf(textsAt(objectAt(namespace as JsonObject, 'spec'), 'finalizers'), (finalizer, index) =>
      [...checkQualifiedName(finalizer), ...checkStandardFinalizer(finalizer)].map((problem) =>
        invalidValue(isFinalize ? `spec.finalizers[${index}]` : 'spec.finalizers', finalizer, problem),
      ),
    );
  },
};

function validatePhase(namespace: KubeObject): FieldError[] {
  const phase = textAt(objectAt(namespace as JsonObject, 'status'), 'phase');
  const isGoing = namespace.metadata.deletionTimestamp !== undefined;
  const wanted = isGoing ? 'Terminating' : 'Active';
  if (phase === wanted) return [];
  const why = `may only be '${wanted}' if \`deletionTimestamp\` is ${isGoing ? 'not ' : ''}empty`;
  return [invalidValue('status.Phase', phase, why)];
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
