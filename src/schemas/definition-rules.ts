/**
 * What a definition of a custom kind may say beside its schema: group, names, columns, the paths of its scale. Every fault
 * in the order and the words of kube-apiserver, with its place.
 */
import { checkDns1035Label, checkDnsSubdomain, type FieldError, invalidValue, requiredValue } from '../api/index.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const NAMES = ['plural', 'singular', 'kind', 'listKind'] as const;
const NO_DOT = 'must be a simple json path starting with .';

type NamesLike = {
  readonly plural?: string;
  readonly singular?: string;
  readonly kind?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
};
type ScaleLike = {
  readonly specReplicasPath?: string;
  readonly statusReplicasPath?: string;
  readonly labelSelectorPath?: string;
};
type ColumnLike = {
  readonly name?: string;
  readonly type?: string;
  readonly format?: string;
  readonly jsonPath?: string;
};

export function groupFaults(group: string): FieldError[] {
  if (group === '') return [requiredValue('spec.group')];
  const problems = checkDnsSubdomain(group);
  if (problems.length > 0) return [invalidValue('spec.group', group, problems.join(','))];
  return group.includes('.') ? [] : [invalidValue('spec.group', group, 'should be a domain with at least one dot')];
}

/** A name; one of a kind may be in mixed case. */
export function labelFaults(path: string, name: string, isMixed: boolean): FieldError[] {
  const problems = checkDns1035Label(isMixed ? name.toLowerCase() : name);
  const lead = isMixed ? 'may have mixed case, but should otherwise match: ' : '';
  return problems.length > 0 ? [invalidValue(path, name, lead + problems.join(','))] : [];
}

export function nameFaults(names: NamesLike): FieldError[] {
  const missing = NAMES.filter((field) => (names[field] ?? '') === '');
  return [...missing.map((field) => requiredValue(`spec.names.${field}`)), ...givenNameFaults(names, 'spec.names')];
}

/** Of the names that are there: none of them must be. */
export function givenNameFaults(names: NamesLike, at: string): FieldError[] {
  const faults: FieldError[] = [];
  const label = (field: string, name: string | null, isMixed = false) =>
    faults.push(...labelFaults(`${at}.${field}`, name ?? '', isMixed));
  for (const field of NAMES) if (names[field]) label(field, names[field], field === 'kind' || field === 'listKind');
  const { kind = '', listKind = '', shortNames, categories } = names;
  for (const [index, name] of (shortNames ?? []).entries()) label(`shortNames[${index}]`, name);
  if (kind !== '' && kind === listKind)
    faults.push(invalidValue(`${at}.listKind`, listKind, 'kind and listKind may not be the same'));
  for (const [index, name] of (categories ?? []).entries()) label(`categories[${index}]`, name);
  return faults;
}

export function scaleFaults(scale: ScaleLike, path: string): FieldError[] {
  const faults: FieldError[] = [];
  const check = (field: keyof typeof scale, roots: readonly string[], isRequired = true) => {
    const value = scale[field] ?? '';
    const at = `${path}.${field}`;
    if (value === '') {
      if (isRequired) faults.push(requiredValue(at));
      return;
    }
    if (!value.startsWith('.')) faults.push(invalidValue(at, value, NO_DOT));
    else if (!roots.some((root) => value.startsWith(`${root}.`))) {
      const where = roots.length === 1 ? roots[0] : `either ${roots.join(' or ')}`;
      faults.push(invalidValue(at, value, `should be a json path under ${where}`));
    }
  };
  check('specReplicasPath', ['.spec']);
  check('statusReplicasPath', ['.status']);
  check('labelSelectorPath', ['.spec', '.status'], false);
  return faults;
}

/** Whether the path can be followed is told by whoever follows it; kube-apiserver calls it `JSONPath`. */
export function columnFaults(column: ColumnLike, at: string, pathField = 'jsonPath'): FieldError[] {
  const { name, type, format, jsonPath } = column;
  const faults: FieldError[] = [];
  const types = `must be one of ${COLUMN_TYPES.join(',')}`;
  if (!name) faults.push(requiredValue(`${at}.name`));
  if (!type) faults.push(requiredValue(`${at}.type`, types));
  else if (!COLUMN_TYPES.includes(type)) faults.push(invalidValue(`${at}.type`, type, types));
  if (format && !COLUMN_FORMATS.includes(format))
    faults.push(invalidValue(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
  if (!jsonPath) faults.push(requiredValue(`${at}.${pathField}`));
  else if (!jsonPath.startsWith('.')) faults.push(invalidValue(`${at}.${pathField}`, jsonPath, NO_DOT));
  return faults;
}
