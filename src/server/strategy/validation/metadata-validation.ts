/**
 * The rules for `metadata` that hold for objects of every kind, on create and on update.
 *
 * Pure: the answer is the list of what is wrong, in the order kube-apiserver reports it (within a map, keys are
 * taken in sorted order, since there it is a matter of chance). Nobody is asked who owns what; a caller has already
 * filled in what the server sets (uid, times, the namespace of the path).
 */
import {
  childPath,
  type FieldError,
  forbiddenValue,
  invalidValue,
  quote,
  requiredValue,
  showValue,
  tooLong,
} from '../../../api/errors/field-error.ts';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../../../api/objects.ts';
import {
  checkAnnotationKey,
  checkDnsLabel,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  checkStandardFinalizer,
  type NameCheck,
} from '../../../api/scalars/names.ts';
import { appendAll, faultsOf } from './append-all.ts';
import { sortedEntries } from './fields.ts';

export type ObjectMetaRules = {
  readonly isNamespaced: boolean;
  readonly validateName: NameCheck;
  /** `metadata`, unless it is inside something, as in `spec.template.metadata`. */
  readonly fieldPath?: string;
  /** Custom resources may use any qualified name as a finalizer, built-in kinds only domain/name or a standard one. */
  readonly allowsPlainFinalizers?: boolean;
};

const annotationsLimitBytes: number = 256 * 1024;
const managerLimitBytes = 128;
const subresourceLimitBytes = 256;
/** Each is told with the whole name, so there must be an end to it. */
const mostBadCharacters = 20;
const printableAscii = /^[ -~]*$/;
const immutableText = 'field is immutable';

/** For an object about to be created. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  const { isNamespaced, validateName, fieldPath = 'metadata', allowsPlainFinalizers = false } = rules;
  const path = (child: string) => childPath(fieldPath, child);
  const { name = '', generateName = '', namespace = '', generation = 0, finalizers = [] } = meta;
  const errors: FieldError[] = [];
  const report = (field: string, value: unknown, problems: readonly string[]) => {
    for (const problem of problems) errors.push(invalidValue(path(field), value, problem));
  };
  if (generateName !== '') report('generateName', generateName, validateName(generateName, true));
  if (name === '') errors.push(requiredValue(path('name'), 'name or generateName is required'));
  else report('name', name, validateName(name, false));
  if (!isNamespaced) {
    if (namespace !== '') errors.push(forbiddenValue(path('namespace'), 'not allowed on this type'));
  } else if (namespace === '') errors.push(requiredValue(path('namespace')));
  else report('namespace', namespace, checkDnsLabel(namespace));
  if (generation < 0) report('generation', generation, ['must be greater than or equal to 0']);
  return [
    ...errors,
    ...validateLabels(meta.labels, path('labels')),
    ...validateAnnotations(meta.annotations, path('annotations')),
    ...validateOwnerReferences(meta.ownerReferences, path('ownerReferences')),
    ...validateFinalizers(finalizers, path('finalizers'), allowsPlainFinalizers),
    ...validateManagedFields(meta.managedFields, path('managedFields')),
  ];
}

/** For an object about to replace `old`; what every object must fulfil is checked again. */
export function validateObjectMetaUpdate(next: ObjectMeta, old: ObjectMeta, fieldPath = 'metadata'): FieldError[] {
  const path = (child: string) => childPath(fieldPath, child);
  const errors: FieldError[] = [];
  if (old.deletionTimestamp) {
    const known = new Set(old.finalizers);
    const added = [...new Set(next.finalizers)].filter((finalizer) => !known.has(finalizer)).sort();
    if (added.length > 0) {
      const why = 'no new finalizers can be added if the object is being deleted, found new finalizers';
      errors.push(forbiddenValue(path('finalizers'), `${why} []string{${added.map(quote).join(', ')}}`));
    }
  }
  if ((next.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalidValue(path('generation'), next.generation ?? 0, 'must not be decremented'));
  }
  for (const field of immutableFields) {
    const value = next[field] ?? (nullable.has(field) ? null : '');
    if (value !== (old[field] ?? (nullable.has(field) ? null : ''))) {
      errors.push(invalidValue(path(field), value, immutableText));
    }
  }
  return [
    ...errors,
    ...validateLabels(next.labels, path('labels')),
    ...validateAnnotations(next.annotations, path('annotations')),
    ...validateOwnerReferences(next.ownerReferences, path('ownerReferences')),
    ...validateManagedFields(next.managedFields, path('managedFields')),
  ];
}

/**
 * For an object about to replace `old`, all that is checked: what holds for every kind, and then what the rules of the
 * kind check once more. Whoever is told of a fault is told each time, as by kube-apiserver.
 */
export function validateReplacedMeta(
  next: ObjectMeta,
  old: ObjectMeta,
  rules: ObjectMetaRules,
  { asUpdate, asNew }: RepeatedChecks,
): FieldError[] {
  const forAll = { ...rules, validateName: checkPathSegment, allowsPlainFinalizers: true };
  const errors = validateObjectMeta(next, forAll);
  const changes = validateObjectMetaUpdate(next, old);
  const hasPlainFinalizers = !rules.allowsPlainFinalizers && (next.finalizers?.length ?? 0) > 0;
  if (errors.length + changes.length === 0 && !hasPlainFinalizers) return [];
  return [
    ...errors,
    ...changes,
    ...(asUpdate ? changes : []),
    ...(asNew ? validateObjectMeta(next, { ...rules, validateName: () => [] }) : []),
  ];
}

/** What the rules of a kind check of metadata again when an object is replaced. */
export type RepeatedChecks = { readonly asUpdate: boolean; readonly asNew: boolean };

const both: RepeatedChecks = { asUpdate: true, asNew: true };
const asUpdate: RepeatedChecks = { asUpdate: true, asNew: false };
const asNew: RepeatedChecks = { asUpdate: false, asNew: true };
const namesAsUpdate = [
  'cronjobs.batch',
  'csidrivers.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'daemonsets.apps',
  'deployments.apps',
  'endpoints',
  'horizontalpodautoscalers.autoscaling',
  'ingresses.networking.k8s.io',
  'ipaddresses.networking.k8s.io',
  'jobs.batch',
  'leases.coordination.k8s.io',
  'namespaces',
  'networkpolicies.networking.k8s.io',
  'priorityclasses.scheduling.k8s.io',
  'replicasets.apps',
  'replicationcontrollers',
  'resourcequotas',
  'resourceslices.resource.k8s.io',
  'services',
  'statefulsets.apps',
];
const namesAsNew = [
  'csinodes.storage.k8s.io',
  'events',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'limitranges',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'persistentvolumes',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'volumeattachments.storage.k8s.io',
];
const repeated: ReadonlyMap<string, RepeatedChecks> = new Map([
  ...namesAsUpdate.map((name) => [name, asUpdate] as const),
  ...namesAsNew.map((name) => [name, asNew] as const),
]);

/** By `qualifiedName`; built-in kinds that are not named check both ways. */
export function repeatedChecksOf(name: string, isCustom: boolean): RepeatedChecks {
  return isCustom ? asUpdate : (repeated.get(name) ?? both);
}

const immutableFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;
const nullable: ReadonlySet<string> = new Set(['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds']);

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of sortedEntries(labels)) {
    for (const problem of checkQualifiedName(key)) errors.push(invalidValue(path, key, problem));
    for (const problem of checkLabelValue(value)) errors.push(invalidValue(path, value, problem));
  }
  return errors;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of sortedEntries(annotations)) {
    for (const problem of checkAnnotationKey(key)) errors.push(invalidValue(path, key, problem));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > annotationsLimitBytes) errors.push(tooLong(path, annotationsLimitBytes));
  return errors;
}

function validateOwnerReferences(references: readonly OwnerReference[] | undefined, path: string): FieldError[] {
  if (!references) return [];
  const errors = faultsOf(references, (reference) => validateOwnerReference(reference, path));
  let controller: OwnerReference | undefined;
  let shown: string | undefined; // the same in every error
  for (const reference of references) {
    if (!reference.controller) continue;
    if (!controller) {
      controller = reference;
      continue;
    }
    const found = `${controller.kind}/${controller.name} and ${reference.kind}/${reference.name}`;
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${found}`;
    shown ??= showValue(references.map(inWireOrder));
    errors.push({ reason: 'FieldValueInvalid', field: path, message: `Invalid value: ${shown}: ${why}` });
  }
  return errors;
}

function validateOwnerReference(reference: OwnerReference, path: string): FieldError[] {
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference;
  const errors: FieldError[] = [];
  const [group, version = group] = apiVersion.split('/', 3);
  if (version === '' || apiVersion.split('/', 3).length > 2) {
    errors.push(invalidValue(`${path}.apiVersion`, apiVersion, 'version must not be empty'));
  }
  for (const [field, value] of Object.entries({ kind, name, uid })) {
    if (value === '') errors.push(invalidValue(`${path}.${field}`, value, 'must not be empty'));
  }
  if (apiVersion === 'v1' && kind === 'Event') {
    errors.push(invalidValue(path, inWireOrder(reference), '/v1, Kind=Event is disallowed from being an owner'));
  }
  return errors;
}

function inWireOrder({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): object {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function validateFinalizers(finalizers: readonly string[], path: string, allowsPlain: boolean): FieldError[] {
  const errors = faultsOf(finalizers, (finalizer) =>
    checkQualifiedName(finalizer).map((problem) => invalidValue(path, finalizer, problem)),
  );
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalidValue(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  if (allowsPlain) return errors;
  const plain = faultsOf(finalizers, (finalizer, index) =>
    checkStandardFinalizer(finalizer).map((problem) => invalidValue(childPath(path, index), finalizer, problem)),
  );
  return [...errors, ...plain];
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[] | undefined, path: string): FieldError[] {
  return faultsOf(entries ?? [], ({ manager = '', operation, fieldsType = '', subresource = '' }, index) => {
    const at = childPath(path, index);
    const errors: FieldError[] = [];
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.push(invalidValue(`${at}.operation`, operation ?? '', 'must be `Apply` or `Update`'));
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      errors.push(invalidValue(`${at}.fieldsType`, fieldsType, 'must be `FieldsV1`'));
    }
    appendAll(errors, validateFieldManager(manager, `${at}.manager`));
    if (Buffer.byteLength(subresource) > subresourceLimitBytes) {
      errors.push(tooLong(`${at}.subresource`, subresourceLimitBytes));
    }
    return errors;
  });
}

/** The name of a manager, in managedFields or as `?fieldManager=`: short and printable. */
export function validateFieldManager(manager: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (manager.length <= managerLimitBytes && printableAscii.test(manager)) return errors;
  if (Buffer.byteLength(manager) > managerLimitBytes) errors.push(tooLong(path, managerLimitBytes));
  let position = 0;
  for (const character of manager) {
    if (/[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
      errors.push(invalidValue(path, manager, `invalid character U+${code} (at position ${position})`));
      if (errors.length > mostBadCharacters) break;
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}
