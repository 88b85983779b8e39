/**
 * Which objects a reader wants, by a few of their fields: `metadata.name=a,status.phase!=Running`.
 *
 * Immutable. All terms must hold; values are compared as text, and a field that an object lacks is the empty text.
 * Which fields can be asked for is the business of each kind and comes in as `FieldSupport`. It fails with a
 * BadRequest in the words of kube-apiserver. To judge an object takes as long as there are different fields, however
 * many terms; a few are compared one by one, and nothing is made for them.
 */
import { badRequest } from '../errors/status-error.ts';

export type FieldRequirement = { readonly field: string; readonly operator: '=' | '!='; readonly value: string };

/** What a kind allows. */
export type FieldSupport = {
  readonly fields: readonly string[];
  /** Other words for some of the fields. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** The message about any other field. */
  readonly refusal: (field: string) => string;
};

const FEW = 8;

export class FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  readonly isEmpty: boolean;
  /** Equal for selectors with equal terms. */
  readonly canonical: string;
  /** Undefined: the terms are few. */
  readonly #tests: ReadonlyMap<string, FieldTest> | undefined;

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
    this.isEmpty = requirements.length === 0;
    this.canonical = [...new Set(requirements.map(termText))].sort().join(',');
    this.#tests = requirements.length > FEW ? compile(requirements) : undefined;
  }

  /** Fields that must have one certain value: what an index can look up. Made anew. */
  get pinned(): ReadonlyMap<string, string> {
    return new Map(
      this.requirements.filter(({ operator }) => operator === '=').map(({ field, value }) => [field, value]),
    );
  }

  /** `getField` answers `''` (or nothing) for what the object does not have. */
  matches(getField: (field: string) => string | undefined): boolean {
    if (!this.#tests) {
      for (const { field, operator, value } of this.requirements)
        if (((getField(field) ?? '') === value) !== (operator === '=')) return false;
      return true;
    }
    for (const [field, { wanted, unwanted }] of this.#tests) {
      const value = getField(field) ?? '';
      if (unwanted.has(value) || wanted.size > 1 || (wanted.size === 1 && !wanted.has(value))) return false;
    }
    return true;
  }

  /** Terms in the order written; it parses back to the same selector. */
  toString(): string {
    return this.requirements.map(termText).join(',');
  }
}

/** All that is asked of one field. Two values that it must have at once are never had. */
type FieldTest = { readonly wanted: Set<string>; readonly unwanted: Set<string> };

function compile(requirements: readonly FieldRequirement[]): ReadonlyMap<string, FieldTest> {
  const tests = new Map<string, FieldTest>();
  for (const { field, operator, value } of requirements) {
    let test = tests.get(field);
    if (!test) {
      test = { wanted: new Set(), unwanted: new Set() };
      tests.set(field, test);
    }
    (operator === '=' ? test.wanted : test.unwanted).add(value);
  }
  return tests;
}

export const everyField: FieldSelector = new FieldSelector([]);

/** `field label not supported: x`: pods, nodes, secrets, services, namespaces, events, custom resources. */
export function fieldLabelNotSupported(field: string): string {
  return `field label not supported: ${field}`;
}

/** `field label "x" not supported for Job`. */
export function fieldLabelNotSupportedFor(kind: string): (field: string) => string {
  return (field) => `field label "${field}" not supported for ${kind}`;
}

/** The words of every other built-in kind. */
export function notAKnownField(field: string): string {
  return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/** Kinds that can be asked for by name and namespace only. */
export const metadataFields: FieldSupport = {
  fields: ['metadata.name', 'metadata.namespace'],
  refusal: notAKnownField,
};

/** From the text of a query parameter. Without `support` any field passes. */
export function parseFieldSelector(text: string, support?: FieldSupport): FieldSelector {
  const parsed = splitTerms(text)
    .filter((term) => term !== '')
    .map((term) => parseTerm(text, term));
  if (parsed.length === 0) return everyField;
  if (!support) return new FieldSelector(parsed);
  const { fields, aliases = {}, refusal } = support;
  return new FieldSelector(
    parsed.map((requirement) => {
      const alias = Object.hasOwn(aliases, requirement.field) ? aliases[requirement.field] : undefined;
      const field = alias ?? requirement.field;
      if (!fields.includes(field)) throw badRequest(refusal(field));
      return { ...requirement, field };
    }),
  );
}

/** At every comma that no backslash takes away. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === '\\') i++;
    else if (i >= text.length || text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  if (start < text.length) terms.push(text.slice(start)); // a backslash took the end
  return terms;
}

const termPattern = /^(.*?)(!=|==|=)(.*)$/s;

function parseTerm(text: string, term: string): FieldRequirement {
  const match = termPattern.exec(term);
  if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
  const [, field = '', operator, value = ''] = match;
  return { field, operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value) };
}

function unescapeValue(value: string): string {
  if (!/[\\=]/.test(value)) return value;
  let plain = '';
  for (let i = 0; i < value.length; i++) {
    let character = value[i]!;
    if (character === '=') throw badRequest('invalid field selector: unescaped character in value: 61');
    if (character === '\\') {
      i++;
      character = value[i] ?? '';
      if (!/^[\\,=]$/.test(character)) {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${character}`);
      }
    }
    plain += character;
  }
  return plain;
}

function termText({ field, operator, value }: FieldRequirement): string {
  return `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`;
}
