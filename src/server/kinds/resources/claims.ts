/**
 * Claims for devices, templates of them, and classes of devices.
 *
 * What a claim asks for never changes; its status says what it got, once, and who uses it. Nothing is allocated here.
 */
import { isGivenEmpty } from '../../../api/given-empty.ts';
import {
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { immutable, listOf } from '../../strategy/validation/field-table.ts';
import { ensureObject, isEmpty, objectAt, objectsAt, sameStruct, sameValue } from '../../strategy/validation/fields.ts';
import { validateAnnotations, validateLabels } from '../../strategy/validation/metadata-validation.ts';
import { setClaimDefaults, setTolerationDefaults, validateAdminAccess, validateClaimSpec } from './claim-spec.ts';
import { validateClaimStatus } from './claim-status.ts';
import { deviceConfiguration, MAX_LIST } from './device-checks.ts';
import { judgeSelectors, selectors, selectorsOf } from './device-selectors.ts';

export const resourceClaimStrategy: Strategy = {
  setDefaults: (claim) => {
    setClaimDefaults(objectAt(claim as JsonObject, 'spec'));
    const allocation = objectAt(objectAt(claim as JsonObject, 'status'), 'allocation');
    for (const result of objectsAt(objectAt(allocation, 'devices'), 'results')) setTolerationDefaults(result);
  },
  validate: async (claim, old, context) => {
    if (old) return []; // it cannot have changed
    const spec = objectAt(claim as JsonObject, 'spec');
    const verdicts = await judgeSelectors(selectorsOf(objectAt(spec, 'devices')));
    return [...validateClaimSpec(spec, 'spec', verdicts), ...(await validateAdminAccess(spec, claim, context))];
  },
  validateUpdate: (claim, old) => {
    if (!sameStruct(claim.spec, old.spec)) return [immutable('spec', claim.spec)];
    return sameStruct(claim.status, old.status) ? [] : validateClaimStatus(claim, old);
  },
};

export const resourceClaimTemplateStrategy: Strategy = {
  setDefaults: (template) => setClaimDefaults(objectAt(ensureObject(template as JsonObject, 'spec'), 'spec')),
  validate: async (template, old, context) => {
    const outer = objectAt(template as JsonObject, 'spec');
    const spec = objectAt(outer, 'spec');
    const verdicts = old ? undefined : await judgeSelectors(selectorsOf(objectAt(spec, 'devices')));
    return [
      ...validateTemplateMeta(objectAt(outer, 'metadata'), 'spec.metadata'),
      ...validateClaimSpec(spec, 'spec.spec', verdicts),
      ...(old ? [] : await validateAdminAccess(spec, template, context)),
    ];
  },
  validateUpdate: (template, old) => (sameStruct(template.spec, old.spec) ? [] : [immutable('spec', template.spec)]),
};

/** What a template may say of the objects made from it: labels and annotations, and nothing else. */
const notInTemplates: readonly (readonly [field: string, name: string])[] = [
  ['name', 'name'],
  ['generateName', 'generateName'],
  ['namespace', 'namespace'],
  ['selfLink', 'selfLink'],
  ['uid', 'uID'],
  ['resourceVersion', 'resourceVersion'],
  ['generation', 'generation'],
  ['creationTimestamp', 'creationTimestamp'],
  ['deletionTimestamp', 'deletionTimestamp'],
  ['deletionGracePeriodSeconds', 'deletionGracePeriodSeconds'],
  ['ownerReferences', 'ownerReferences'],
  ['finalizers', 'finalizers'],
  ['managedFields', 'managedFields'],
];

/** An empty list is one, and so is no time at all to go in; no text and no generation are as if nothing was said. */
function isSet(meta: JsonObject, field: string): boolean {
  const value = meta[field];
  if (isEmpty(value)) return Array.isArray(value) || isGivenEmpty(meta, field);
  return value !== 0 || field === 'deletionGracePeriodSeconds';
}

function validateTemplateMeta(meta: JsonObject | undefined, path: string): FieldError[] {
  if (!meta) return [];
  type Texts = Record<string, string>;
  const errors = [
    ...validateAnnotations(meta.annotations as Texts | undefined, `${path}.annotations`),
    ...validateLabels(meta.labels as Texts | undefined, `${path}.labels`),
  ];
  for (const [field, name] of notInTemplates)
    if (isSet(meta, field)) errors.push(forbiddenValue(`${path}.${name}`, 'cannot be set'));
  return errors;
}

const configurations = [false, true].map((isStored) => listOf(deviceConfiguration(isStored), { atMost: MAX_LIST }));

export const deviceClassStrategy: Strategy = {
  validate: async (object, old) => {
    const spec = objectAt(object as JsonObject, 'spec') ?? {};
    const before = objectAt(old as JsonObject | undefined, 'spec');
    const isKept = (field: string) => before !== undefined && sameValue(spec[field], before[field]);
    const verdicts = isKept('selectors') ? undefined : await judgeSelectors(objectsAt(spec, 'selectors'));
    const errors: FieldError[] = [];
    appendAll(errors, selectors(verdicts)(spec.selectors ?? undefined, 'spec.selectors', spec));
    appendAll(errors, configurations[Number(isKept('config'))]!(spec.config ?? undefined, 'spec.config', spec));
    const name = spec.extendedResourceName;
    if (typeof name === 'string' && !isExtendedResource(name))
      errors.push(invalidValue('spec.extendedResourceName', name, 'must be a valid extended resource name'));
    return errors;
  },
};

/** A resource with a domain of its own that is not Kubernetes'. */
function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith('requests.')) return false;
  return checkQualifiedName(`requests.${name}`).length === 0;
}
