/** Priority classes: a number for pods, and whether they drive others away. Neither changes once it is said. */
import { type FieldError, forbiddenValue, requiredValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { oneOf } from '../../strategy/validation/checks.ts';
import { defaultsFrom, immutableFields } from '../../strategy/validation/field-table.ts';
import { sameValue } from '../../strategy/validation/fields.ts';

const highestUserPriority = 1_000_000_000;
/** The classes of the server itself, with their values. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};
const preemptionPolicy = oneOf('PreemptLowerPriority', 'Never');

export const priorityClassStrategy: Strategy = {
  setDefaults: defaultsFrom([['preemptionPolicy?', 'PreemptLowerPriority']]),
  prepareCreate: ({ metadata }) => {
    metadata.generation = 1; // and stays 1, whatever changes
  },
  validate: (priorityClass, old) => {
    if (old) return []; // what it is stays; what it must be was asked when it was made
    const { metadata, value, globalDefault } = priorityClass;
    const errors = checkValue(metadata.name ?? '', Number(value ?? 0), globalDefault === true);
    const policy = priorityClass.preemptionPolicy;
    if (policy === '') return [...errors, requiredValue('preemptionPolicy')];
    return [...errors, ...preemptionPolicy(policy as string | undefined, 'preemptionPolicy', {})];
  },
  validateUpdate: (priorityClass, old) => {
    const isSame = sameValue(priorityClass.value ?? 0, old.value ?? 0);
    const errors = isSame ? [] : [forbiddenValue('value', 'may not be changed in an update.')];
    return [...errors, ...keepsPreemption(priorityClass, old)];
  },
  whyKept: (name) =>
    Object.hasOwn(systemClasses, name) ? 'this is a system priority class and cannot be deleted' : undefined,
};
const keepsPreemption = immutableFields(['preemptionPolicy']);

function checkValue(name: string, value: number, isDefault: boolean): FieldError[] {
  if (name.startsWith('system-')) {
    const why = systemFault(name, value, isDefault);
    const lead = "priority class names with 'system-' prefix are reserved for system use only. error:";
    return why === undefined ? [] : [forbiddenValue('metadata.name', `${lead} ${why}`)];
  }
  if (value <= highestUserPriority) return [];
  return [forbiddenValue('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`)];
}

function systemFault(name: string, value: number, isDefault: boolean): string | undefined {
  if (!Object.hasOwn(systemClasses, name)) return `${name} is not a known system priority class`;
  const wanted = systemClasses[name]!;
  if (value !== wanted) return `value of ${name} PriorityClass must be ${wanted}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
