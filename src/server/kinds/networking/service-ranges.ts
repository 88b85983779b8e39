/** The ranges that addresses of services are given from, and the addresses that were given. */
import {
  checkDnsSubdomain,
  checkPathSegment,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { named, required } from '../../strategy/validation/checks.ts';
import { type Check, immutable, struct, textsOf } from '../../strategy/validation/field-table.ts';
import { objectAt, sameStruct, textsAt } from '../../strategy/validation/fields.ts';
import { checkRange, parseRange } from '../../strategy/validation/ip-address.ts';

const twiceText = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';

const range: Check = (value, path) =>
  checkRange(String(value), true).map((problem) => invalidValue(path, value, problem));

function rangesOf(object: KubeObject): readonly string[] {
  return textsAt(objectAt(object as JsonObject, 'spec'), 'cidrs').map((one) => one ?? '');
}

/** One range, or one of each family. */
function validateRanges(object: KubeObject): FieldError[] {
  const [ranges, path] = [rangesOf(object), 'spec.cidrs'];
  if (ranges.length === 0) return [requiredValue(path, 'at least one CIDR required')];
  if (ranges.length > 2) return [invalidValue(path, ranges, 'may only hold up to 2 values')];
  const [first, second] = ranges.map((one) => parseRange(one)?.address.bytes.length);
  const errors = first !== undefined && first === second ? [invalidValue(path, ranges, twiceText)] : [];
  return [...errors, ...textsOf(range)([...ranges], path, {})];
}

export const serviceCidrStrategy: Strategy = {
  validate: (object, old) => (old ? [] : validateRanges(object)),
  validateUpdate: (object, old) => {
    const [ranges, before] = [rangesOf(object), rangesOf(old)];
    const changed = ranges
      .map((one, index) => ({ one, index }))
      .filter(({ one, index }) => index < before.length && one !== before[index])
      .map(({ one, index }) => immutable(`spec.cidrs[${index}]`, one));
    if (ranges.length === before.length) return changed;
    if (before.length === 1 && ranges.length === 2) return [...changed, ...validateRanges(object)];
    return [immutable('spec.cidrs', objectAt(object as JsonObject, 'spec')?.cidrs)];
  },
};

const parentRef: Check = (value, path, owner) =>
  value === undefined ? [requiredValue(path)] : parent(value, path, owner);
const parent = struct([
  ['group', named(checkDnsSubdomain)],
  ['resource', required, named(checkPathSegment)],
  ['name', required, named(checkPathSegment)],
  ['namespace', named(checkPathSegment)],
]);

export const ipAddressStrategy: Strategy = {
  validate: (object) => {
    const spec = objectAt(object as JsonObject, 'spec') ?? {};
    return parentRef(spec.parentRef ?? undefined, 'spec.parentRef', spec);
  },
  validateUpdate: (object, old) => {
    const refOf = (owner: KubeObject) => objectAt(objectAt(owner as JsonObject, 'spec'), 'parentRef');
    return sameStruct(refOf(object), refOf(old)) ? [] : [immutable('spec.parentRef', refOf(object))];
  },
};
