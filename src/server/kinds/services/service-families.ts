/**
 * Addresses and address families of a service: how they must agree, and what is filled in where nothing was said.
 *
 * Which families there are is decided by the default range of addresses; a headless service without a selector may speak
 * of both all the same. What does not agree is refused before anything is allocated, and told alone.
 */
import {
  duplicateValue,
  type FieldError,
  invalid,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { oneOf } from '../../strategy/validation/checks.ts';
import { isEmptyMap, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { checkIpAddress, parseAddress } from '../../strategy/validation/ip-address.ts';
import type { Family } from './address-ranges.ts';

const family = oneOf('IPv4', 'IPv6');
const familyPolicy = oneOf('PreferDualStack', 'RequireDualStack', 'SingleStack');
const [addressPath, familyPath, policyPath] = ['spec.clusterIPs', 'spec.ipFamilies', 'spec.ipFamilyPolicy'];

export function isHeadless(spec: JsonObject): boolean {
  return textsAt(spec, 'clusterIPs')[0] === 'None' || textAt(spec, 'clusterIP') === 'None';
}

/** Whether what is said of addresses and families can be true at all. */
export function validateAddressFields(spec: JsonObject): FieldError[] {
  if (textAt(spec, 'type') === 'ExternalName') return [];
  const [single, all] = [textAt(spec, 'clusterIP'), textsAt(spec, 'clusterIPs').map((one) => one ?? '')];
  const errors: FieldError[] = [];
  if (single !== '' && all.length === 0) errors.push(requiredValue(addressPath));
  else if (single !== '' && all[0] !== single)
    errors.push(invalidValue(addressPath, all, 'first value must match `clusterIP`'));
  else if (single === '' && all.length > 0)
    errors.push(invalidValue(addressPath, all, 'must be empty when `clusterIP` is not specified'));
  const families = textsAt(spec, 'ipFamilies').map((one) => one ?? '');
  const seen = new Set<string>();
  for (const [index, one] of families.entries()) {
    appendAll(errors, family(one, `${familyPath}[${index}]`, spec));
    if (seen.has(one)) errors.push(duplicateValue(`${familyPath}[${index}]`, one));
    seen.add(one);
  }
  appendAll(errors, familyPolicy(spec.ipFamilyPolicy ?? undefined, policyPath, spec));
  const wrong = validateAddresses(all);
  appendAll(errors, wrong);
  if (all.length > 2) errors.push(invalidValue(addressPath, all, 'may only hold up to 2 values'));
  if (wrong.length > 0) return errors;
  const sizes = all.map((one) => parseAddress(one)?.bytes.length);
  if (all.length > 1 && (all.length > 2 || sizes[0] === sizes[1]))
    errors.push(invalidValue(addressPath, all, 'may specify no more than one IP for each IP family'));
  if (all[0] === 'None' || errors.length > 0) return errors;
  for (const [index, one] of families.slice(0, all.length).entries()) {
    if ((sizes[index] === 4 ? 'IPv4' : 'IPv6') === one) continue;
    const why = `expected an ${one} value as indicated by \`ipFamilies[${index}]\``;
    errors.push(invalidValue(`${addressPath}[${index}]`, all[index], why));
  }
  return errors;
}

function validateAddresses(all: readonly string[]): FieldError[] {
  return faultsOf(all, (one, index) => {
    if (index === 0 && one === 'None')
      return all.length > 1 ? [invalidValue(addressPath, all, "'None' must be the first and only value")] : [];
    return checkIpAddress(one).map((problem) => invalidValue(`${addressPath}[${index}]`, one, problem));
  });
}

/** Sets the policy and the families, or refuses what cannot be had here. */
export function setFamilies(
  service: KubeObject,
  spec: JsonObject,
  before: JsonObject | undefined,
  configured: readonly Family[],
): void {
  if (textAt(spec, 'type') === 'ExternalName' || isPreferenceKept(spec, before)) return;
  const isFree = textAt(spec, 'clusterIP') === 'None' && isEmptyMap(spec.selector);
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (isFree ? 'RequireDualStack' : 'SingleStack');
  const refuse = (errors: readonly FieldError[]) => {
    if (errors.length > 0) throw invalid({ kind: 'Service', group: '' }, service.metadata.name ?? '', errors);
  };
  refuse(validateAddressFields(spec));
  const policy = textAt(spec, 'ipFamilyPolicy');
  const errors: FieldError[] = before ? reduceToOne(spec, before, policy) : [];
  const both = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  if (policy === 'SingleStack') {
    if (textsAt(spec, 'clusterIPs').length === 2)
      errors.push(invalidValue(policyPath, policy, `${both} cluster IPs are specified`));
    if (textsAt(spec, 'ipFamilies').length === 2)
      errors.push(invalidValue(policyPath, policy, `${both} IP families are specified`));
  }
  const families = [...textsAt(spec, 'ipFamilies')];
  for (const [index, address] of textsAt(spec, 'clusterIPs').entries()) {
    if (address === 'None') break;
    if (index < families.length) continue;
    const its = parseAddress(address)?.bytes.length === 4 ? 'IPv4' : 'IPv6';
    if (configured.includes(its)) families.push(its);
    else
      errors.push(
        invalidValue(`${addressPath}[${index}]`, spec.clusterIPs, `${its} is not configured on this cluster`),
      );
  }
  refuse(errors);
  if (families.length === 0) families.push(configured[0]!);
  spec.ipFamilies = families;
  const addOther = () => {
    if (families.length === 1 && policy !== 'SingleStack') families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  };
  if (isFree) {
    addOther();
    return;
  }
  if (policy === 'RequireDualStack' && configured.length < 2)
    errors.push(invalidValue(policyPath, policy, 'this cluster is not configured for dual-stack services'));
  for (const [index, one] of families.entries())
    if (!configured.includes(one as Family))
      errors.push(invalidValue(`${familyPath}[${index}]`, one, 'not configured on this cluster'));
  refuse(errors);
  if (configured.length === 2) addOther();
}

/** Who would like both, and says nothing new, keeps what it has, whatever has become of the cluster. */
function isPreferenceKept(spec: JsonObject, before: JsonObject | undefined): boolean {
  if (!before || textAt(spec, 'ipFamilyPolicy') !== 'PreferDualStack') return false;
  const isSame = (field: string) => textsAt(spec, field).join() === textsAt(before, field).join();
  return textAt(before, 'ipFamilyPolicy') === 'PreferDualStack' && isSame('clusterIPs') && isSame('ipFamilies');
}

/** A second address or family is given up by saying so in the policy, and in no other way. */
function reduceToOne(spec: JsonObject, before: JsonObject, policy: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, what] of [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const) {
    const [now, was] = [textsAt(spec, field), textsAt(before, field)];
    if (policy !== 'SingleStack') {
      if (now.length > 0 && now.length < was.length && now[0] === was[0])
        errors.push(invalidValue(policyPath, policy, `must be 'SingleStack' to release the secondary ${what}`));
    } else if (now.length > 1 && now.join() === was.join()) spec[field] = [now[0]!];
  }
  return errors;
}
