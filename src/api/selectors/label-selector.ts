/**
 * Which objects a reader wants, by their labels. A selector is compiled once and asked many times.
 *
 * Immutable. All requirements must hold; none at all means everything. Two selectors that mean the same by the same
 * requirements have the same `canonical` text, however they were written, so it serves as the key of a group. A label
 * value that is not a string counts as absent: what is inherited by a plain object never matches.
 *
 * To judge an object takes as long as it has labels, however many requirements there are: those about one key are
 * compiled into one test, and of those that also hold without the key only the ones about labels it has are looked at.
 */

import { badRequest } from '../errors/status-error.ts';
import {
  checkRequirement,
  isInt64,
  type LabelOperator,
  type LabelRequirement,
  parseRequirements,
} from './label-selector-parser.ts';

export type Labels = Readonly<Record<string, string>>;

/** The object form, as specs of objects carry it. */
export type LabelSelectorObject = {
  readonly matchLabels?: Labels | null;
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | null }[]
    | null;
};

type Test = (value: string | undefined) => boolean;

/** So many keys are looked up one by one. */
const FEW = 8;

function labelOf(labels: Labels | null | undefined, key: string): string | undefined {
  const value: unknown = labels?.[key];
  return typeof value === 'string' ? value : undefined;
}

export class LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  /** True if it selects everything. */
  readonly isEmpty: boolean;
  readonly #isNothing: boolean;
  /** Keys that must be there. */
  readonly #needed: ReadonlyMap<string, Test>;
  /** Keys that may also be absent. */
  readonly #allowed: ReadonlyMap<string, Test>;
  #canonical: string | undefined;
  #pinned: ReadonlyMap<string, string> | undefined;

  constructor(requirements: readonly LabelRequirement[], isNothing = false) {
    this.requirements = requirements;
    this.isEmpty = requirements.length === 0 && !isNothing;
    this.#isNothing = isNothing;
    const byKey = compileByKey(requirements);
    this.#needed = new Map([...byKey].filter(([, holds]) => !holds(undefined)));
    this.#allowed = new Map([...byKey].filter(([, holds]) => holds(undefined)));
  }

  matches(labels: Labels | null | undefined): boolean {
    if (this.#isNothing) return false;
    for (const [key, holds] of this.#needed) if (!holds(labelOf(labels, key))) return false;
    if (this.#allowed.size <= FEW) {
      for (const [key, holds] of this.#allowed) if (!holds(labelOf(labels, key))) return false;
      return true;
    }
    for (const key in labels) if (this.#allowed.get(key)?.(labelOf(labels, key)) === false) return false;
    return true;
  }

  /** Equal for selectors with equal requirements. */
  get canonical(): string {
    this.#canonical ??= this.#isNothing
      ? '<nothing>'
      : [...new Set(this.requirements.map((requirement) => requirementText(simplify(requirement))))].sort().join(',');
    return this.#canonical;
  }

  /** Labels that must have one certain value: what an index can look up. */
  get pinned(): ReadonlyMap<string, string> {
    this.#pinned ??= new Map(
      this.requirements
        .map(simplify)
        .filter(({ operator }) => operator === '=')
        .map(({ key, values }) => [key, values[0]!]),
    );
    return this.#pinned;
  }

  /** As tables print it: sorted by key, operators as written; it parses back to the same selector. */
  toString(): string {
    const sorted = [...this.requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    return sorted.map(requirementText).join(',');
  }
}

export const everyLabel: LabelSelector = new LabelSelector([]);
export const noLabel: LabelSelector = new LabelSelector([], true);

/** From the text of a query parameter; a BadRequest says what is wrong with it. */
export function parseLabelSelector(text: string): LabelSelector {
  const requirements = parseRequirements(text);
  return requirements.length === 0 ? everyLabel : new LabelSelector(requirements);
}

/** Labels that must all be there, as in the selector of a service. */
export function labelSelectorFromLabels(labels: Labels | null | undefined): LabelSelector {
  return new LabelSelector(
    Object.entries(labels ?? {}).map(([key, value]) => ({ key, operator: '=', values: [value] })),
  );
}

const objectOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/** From the object form: absent selects nothing, empty everything. A BadRequest if it is no valid selector. */
export function labelSelectorFromObject(selector: LabelSelectorObject | null | undefined): LabelSelector {
  if (!selector) return noLabel;
  const requirements: LabelRequirement[] = [...labelSelectorFromLabels(selector.matchLabels).requirements];
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = objectOperators.get(operator);
    if (!known) throw badRequest(`"${operator}" is not a valid label selector operator`);
    requirements.push({ key, operator: known, values: [...new Set(values ?? [])].sort() });
  }
  for (const requirement of requirements) {
    const isSet = requirement.operator === 'in' || requirement.operator === 'notin';
    if (isSet && requirement.values.length === 0) {
      throw badRequest("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
    }
    const [problem] = checkRequirement(requirement);
    if (problem) throw badRequest(`${problem.field}: ${problem.message}`);
  }
  return new LabelSelector(requirements);
}

/** The object form as a table cell. */
export function showLabelSelector(selector: LabelSelectorObject | null | undefined): string {
  try {
    return labelSelectorFromObject(selector).toString() || '<none>';
  } catch {
    return '<error>';
  }
}

/** What all requirements about one key come to. */
function compileByKey(requirements: readonly LabelRequirement[]): ReadonlyMap<string, Test> {
  const sameKey = new Map<string, LabelRequirement[]>();
  for (const requirement of requirements) {
    const others = sameKey.get(requirement.key);
    if (others) others.push(requirement);
    else sameKey.set(requirement.key, [requirement]);
  }
  return new Map([...sameKey].map(([key, same]) => [key, compile(same)]));
}

function compile(requirements: readonly LabelRequirement[]): Test {
  const [{ operator, values }] = requirements as readonly [LabelRequirement];
  if (requirements.length > 1 || values.length !== 1) return compileMany(requirements);
  const [only] = values; // most selectors ask for one value of a key
  if (operator === '=' || operator === 'in') return (value) => value === only;
  if (operator === '!=' || operator === 'notin') return (value) => value !== only;
  return compileMany(requirements);
}

function compileMany(requirements: readonly LabelRequirement[]): Test {
  let wanted: ReadonlySet<string> | undefined;
  const unwanted = new Set<string>();
  let isNeeded = false;
  let isRefused = false;
  let above: bigint | undefined;
  let below: bigint | undefined;
  for (const { operator, values } of requirements) {
    switch (operator) {
      case '=':
      case 'in': {
        const known: ReadonlySet<string> | undefined = wanted;
        wanted = new Set(known ? values.filter((value) => known.has(value)) : values);
        break;
      }
      case '!=':
      case 'notin':
        for (const value of values) unwanted.add(value);
        break;
      case 'exists':
        isNeeded = true;
        break;
      case '!':
        isRefused = true;
        break;
      case '>': {
        const bound = BigInt(values[0] ?? '');
        if (above === undefined || bound > above) above = bound;
        break;
      }
      case '<': {
        const bound = BigInt(values[0] ?? '');
        if (below === undefined || bound < below) below = bound;
        break;
      }
    }
  }
  isNeeded ||= wanted !== undefined || above !== undefined || below !== undefined;
  return (value) => {
    if (value === undefined) return !isNeeded;
    if (isRefused || (wanted && !wanted.has(value)) || unwanted.has(value)) return false;
    if (above === undefined && below === undefined) return true;
    if (!isInt64(value)) return false;
    const number = BigInt(value);
    return (above === undefined || number > above) && (below === undefined || number < below);
  };
}

/** A set of one value is that value. */
function simplify(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  if (values.length !== 1) return requirement;
  if (operator === 'in') return { key, operator: '=', values };
  if (operator === 'notin') return { key, operator: '!=', values };
  return requirement;
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    default:
      return `${key}${operator}${values[0] ?? ''}`;
  }
}
