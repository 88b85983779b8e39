/**
 * The selectors of a question about access: which objects somebody would list. Their form is checked; what cannot be
 * read in the end is not asked about, and the answer says so.
 */
import {
  checkLabelValue,
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  parseFieldSelector,
  parseLabelSelector,
  requiredValue,
} from '../../api/index.ts';

type Requirement = { key?: string; operator?: string; values?: (string | null)[] | null };
export type SelectorQuestion = { rawSelector?: string; requirements?: (Requirement | null)[] | null };
type Selectors = {
  readonly fieldSelector?: SelectorQuestion | null;
  readonly labelSelector?: SelectorQuestion | null;
};

const NAMES = ['fieldSelector', 'labelSelector'] as const;

export function checkSelectors(selectors: Selectors, path: string): FieldError[] {
  return NAMES.flatMap((name) => {
    const selector = selectors[name];
    return selector ? checkSelector(selector, `${path}.${name}`, name === 'labelSelector') : [];
  });
}

/** Which of them the answer is not about, and why; empty if it is about all. */
export function ignoredSelectors(selectors: Selectors): string {
  const ignored = NAMES.flatMap((name) => {
    const selector = selectors[name];
    if (!selector) return [];
    const { isReadable, someReadable } = readability(selector, name === 'labelSelector');
    if (isReadable) return [];
    return `spec.resourceAttributes.${name} ${someReadable ? 'partially ' : ''}ignored due to parse error`;
  });
  return ignored.length === 2 ? `[${ignored.join(', ')}]` : (ignored[0] ?? '');
}

function checkSelector(selector: SelectorQuestion, path: string, isLabels: boolean): FieldError[] {
  const { rawSelector = '' } = selector;
  const requirements = selector.requirements ?? [];
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0) {
    const why = 'may not specified at the same time as requirements';
    errors.push(invalidValue(`${path}.rawSelector`, rawSelector, why));
  }
  if (rawSelector === '' && requirements.length === 0) {
    const why = `when ${path} is specified, requirements or rawSelector is required`;
    errors.push(requiredValue(`${path}.requirements`, why));
  }
  for (const [index, requirement] of requirements.entries())
    errors.push(...checkRequirement(requirement ?? {}, `${path}.requirements[${index}]`, isLabels));
  return errors;
}

function checkRequirement({ key = '', operator, values }: Requirement, path: string, isLabels: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const list = (values ?? []).map((value) => value ?? '');
  if (isLabels) for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.key`, key, problem));
  else if (key === '') errors.push(requiredValue(`${path}.key`, 'must be specified'));
  if ((operator === 'In' || operator === 'NotIn') && list.length === 0)
    errors.push(requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  if ((operator === 'Exists' || operator === 'DoesNotExist') && list.length > 0) {
    const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    errors.push(forbiddenValue(`${path}.values`, why));
  }
  for (const [index, value] of isLabels ? list.entries() : [])
    for (const problem of checkLabelValue(value)) errors.push(invalidValue(`${path}.values[${index}]`, value, problem));
  return errors;
}

function readability(selector: SelectorQuestion, isLabels: boolean): { isReadable: boolean; someReadable: boolean } {
  const { rawSelector = '' } = selector;
  const requirements = selector.requirements ?? [];
  if (rawSelector !== '') return { isReadable: canRead(rawSelector, isLabels), someReadable: false };
  // Labels know sets; of fields each must be one value or not that one.
  const known = isLabels ? ['In', 'NotIn', 'Exists', 'DoesNotExist'] : ['In', 'NotIn'];
  const good = requirements.filter(
    (one) => known.includes(one?.operator ?? '') && (isLabels || one?.values?.length === 1),
  );
  return { isReadable: good.length === requirements.length, someReadable: good.length > 0 };
}

function canRead(text: string, isLabels: boolean): boolean {
  try {
    if (isLabels) parseLabelSelector(text);
    else parseFieldSelector(text);
    return true;
  } catch {
    return false;
  }
}
