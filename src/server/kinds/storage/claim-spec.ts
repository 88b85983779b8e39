/** The spec of a claim of storage, wherever it stands: of a claim, of an ephemeral volume, of a stateful set. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  type FieldError,
  invalidValue,
  type JsonObject,
  quote,
  requiredValue,
} from '../../../api/index.ts';
import { quantityOf, roundAmounts, roundResources } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { labelSelector, named, required, requiredWith } from '../../strategy/validation/checks.ts';
import { type Check, struct } from '../../strategy/validation/field-table.ts';
import { isObject, objectAt, textAt } from '../../strategy/validation/fields.ts';
import { checkAccessModes, positiveQuantity, volumeModes } from './persistent-volumes.ts';

const plainClaim = struct([
  ['accessModes', requiredWith('at least 1 access mode is required')],
  ['selector', labelSelector],
  ['storageClassName', named(checkDnsSubdomain)],
  ['volumeMode', volumeModes],
  ['volumeAttributesClassName', named(checkDnsSubdomain)],
]);

/** Any group that was there before may stay. */
function dataSource(isGroupChecked: boolean): Check {
  return struct(
    [
      ['name', required],
      ['kind', required],
      ['apiGroup', isGroupChecked ? named(checkDnsSubdomain) : () => []],
      ['namespace', named(checkDnsLabel)],
    ],
    (value, path) => {
      const [group, kind] = [textAt(value as JsonObject, 'apiGroup'), textAt(value as JsonObject, 'kind')];
      if (group !== '' || kind === 'PersistentVolumeClaim') return [];
      return [invalidValue(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")];
    },
  );
}
const newSource = dataSource(true);
const oldSource = dataSource(false);

/** `before` is what it was, if it was. */
export function validateClaimSpec(spec: JsonObject, path: string, before?: JsonObject): FieldError[] {
  const errors = plainClaim(spec, path, {});
  appendAll(errors, checkAccessModes(spec, path));
  const requests = objectAt(objectAt(spec, 'resources'), 'requests');
  const storagePath = `${path}.resources[storage]`;
  if (requests?.storage === undefined) errors.push(requiredValue(storagePath));
  else appendAll(errors, positiveQuantity(requests.storage, storagePath));
  const had = [before?.dataSource, before?.dataSourceRef];
  const check = had.some((one) => isObject(one) && typeof one.apiGroup === 'string') ? oldSource : newSource;
  const [source, ref] = [objectAt(spec, 'dataSource'), objectAt(spec, 'dataSourceRef')];
  if (source) appendAll(errors, check(source, `${path}.dataSource`, spec));
  if (ref) appendAll(errors, check(ref, `${path}.dataSourceRef`, spec));
  if (!source || !ref) return errors;
  if (textAt(ref, 'namespace') !== '')
    errors.push(invalidValue(path, {}, 'may not be specified when dataSourceRef.namespace is specified'));
  else if (['apiGroup', 'kind', 'name'].some((field) => (source[field] ?? '') !== (ref[field] ?? '')))
    errors.push(invalidValue(path, {}, 'must match dataSourceRef'));
  return errors;
}

/** A claim, or what claims are made from. */
export function roundClaim(claim: JsonObject): void {
  roundResources(objectAt(objectAt(claim, 'spec'), 'resources'));
  for (const part of ['capacity', 'allocatedResources']) roundAmounts(objectAt(objectAt(claim, 'status'), part));
}

/** Storage comes in whole bytes. */
export function claimWarnings(spec: JsonObject, path: string): string[] {
  const resources = objectAt(spec, 'resources');
  return ['requests', 'limits'].flatMap((part) => {
    const quantity = quantityOf(String(objectAt(resources, part)?.storage ?? '0'));
    if (quantity.toBigInt(-3) % 1000n === 0n) return [];
    const shown = quote(`${quantity}`);
    return [`${path}.resources.${part}[storage]: fractional byte value ${shown} is invalid, must be an integer`];
  });
}
