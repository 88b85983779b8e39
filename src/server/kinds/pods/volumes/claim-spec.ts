/**
 * The spec of a claim of storage within another object: of an ephemeral volume, or of a stateful set. Of its
 * metadata only labels and annotations may be set in the former.
 */
import {
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../../api/index.ts';
import { quantityOf } from '../../engine/amounts.ts';
import { appendAll } from '../../engine/append-all.ts';
import { labelSelector, named, oneOf } from '../../engine/checks.ts';
import { isEmpty, mapAt, objectAt, textAt, textsAt } from '../../engine/fields.ts';
import { structChecks } from '../../engine/struct-checks.ts';
import { validateAnnotations, validateLabels } from '../../metadata-validation.ts';

export function validateClaimTemplate(template: JsonObject, path: string, errors: FieldError[]): void {
  const metadata = objectAt(template, 'metadata') ?? {};
  const at = `${path}.metadata`;
  appendAll(errors, validateAnnotations(mapAt(metadata, 'annotations'), `${at}.annotations`));
  appendAll(errors, validateLabels(mapAt(metadata, 'labels'), `${at}.labels`));
  for (const [field, value] of Object.entries(metadata)) {
    if (field === 'annotations' || field === 'labels' || isEmpty(value) || value === 0) continue;
    errors.push(forbiddenValue(`${at}.${field === 'uid' ? 'uID' : field}`, 'cannot be set'));
  }
  validateClaimSpec(objectAt(template, 'spec') ?? {}, `${path}.spec`, errors);
}

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

const checkNames = structChecks([
  ['storageClassName', named(checkDnsSubdomain)],
  ['volumeMode', oneOf('Block', 'Filesystem')],
]);

export function validateClaimSpec(spec: JsonObject, path: string, errors: FieldError[]): void {
  const modes = textsAt(spec, 'accessModes');
  if (modes.length === 0) errors.push(requiredValue(`${path}.accessModes`, 'at least 1 access mode is required'));
  appendAll(errors, labelSelector(spec.selector ?? undefined, `${path}.selector`, spec));
  for (const mode of modes)
    if (!accessModes.includes(mode)) errors.push(unsupportedValue(`${path}.accessModes`, mode, accessModes));
  const hasOthers = modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode));
  if (modes.includes('ReadWriteOncePod') && hasOthers)
    errors.push(forbiddenValue(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes'));
  const storage = objectAt(objectAt(spec, 'resources'), 'requests')?.storage;
  if (storage === undefined) errors.push(requiredValue(`${path}.resources[storage]`));
  else if (quantityOf(String(storage)).sign <= 0)
    errors.push(invalidValue(`${path}.resources[storage]`, storage, 'must be greater than zero'));
  checkNames(spec, path, errors);
  checkDataSource(objectAt(spec, 'dataSource'), `${path}.dataSource`, errors);
  checkDataSource(objectAt(spec, 'dataSourceRef'), `${path}.dataSourceRef`, errors);
  checkSourcesAgree(objectAt(spec, 'dataSource'), objectAt(spec, 'dataSourceRef'), path, errors);
  const attributesClass = spec.volumeAttributesClassName;
  if (typeof attributesClass === 'string' && attributesClass !== '')
    for (const problem of checkDnsSubdomain(attributesClass))
      errors.push(invalidValue(`${path}.volumeAttributesClassName`, attributesClass, problem));
}

/** Both name the same, or only the newer is there. */
function checkSourcesAgree(
  source: JsonObject | undefined,
  reference: JsonObject | undefined,
  path: string,
  errors: FieldError[],
): void {
  if (!source || !reference) return;
  if (textAt(reference, 'namespace') !== '')
    errors.push(invalidValue(path, {}, 'may not be specified when dataSourceRef.namespace is specified'));
  else if (['apiGroup', 'kind', 'name'].some((field) => textAt(source, field) !== textAt(reference, field)))
    errors.push(invalidValue(path, {}, 'must match dataSourceRef'));
}

function checkDataSource(source: JsonObject | undefined, path: string, errors: FieldError[]): void {
  if (!source) return;
  const [group, kind] = [textAt(source, 'apiGroup'), textAt(source, 'kind')];
  if (textAt(source, 'name') === '') errors.push(requiredValue(`${path}.name`));
  if (kind === '') errors.push(requiredValue(`${path}.kind`));
  if (group === '' && kind !== 'PersistentVolumeClaim') {
    const why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.push(invalidValue(path, kind, why));
  }
  if (group !== '')
    for (const problem of checkDnsSubdomain(group)) errors.push(invalidValue(`${path}.apiGroup`, group, problem));
}
