/**
 * Whether this server would take a CustomResourceDefinition, asked without one: the same defaults, the same rules, the same
 * refusal. What only a cluster knows is left out (names that others have, what is stored already).
 */
import { checkDnsSubdomain, invalid, type KubeObject } from '../../api/index.ts';
import { validateObjectMeta } from '../strategy/validation/metadata-validation.ts';
import { asDefinition, DEFINITIONS } from './definition.ts';
import { definitionStrategy, statusOfNew } from './definition-strategy.ts';
import { validateDefinition } from './definition-validation.ts';

/** Throws the StatusError that a create would be refused with. */
export async function checkDefinition(given: KubeObject): Promise<void> {
  const object = structuredClone(given);
  object.metadata = { ...object.metadata, uid: crypto.randomUUID(), generation: 1 };
  definitionStrategy.setDefaults?.(object);
  object.status = statusOfNew(asDefinition(object));
  const rules = { isNamespaced: false, validateName: checkDnsSubdomain, allowsPlainFinalizers: false };
  const faults = [
    ...validateObjectMeta(object.metadata, rules),
    ...(await validateDefinition(asDefinition(object), undefined)),
  ];
  if (faults.length > 0)
    throw invalid({ kind: 'CustomResourceDefinition', group: DEFINITIONS.group }, object.metadata.name ?? '', faults);
}
