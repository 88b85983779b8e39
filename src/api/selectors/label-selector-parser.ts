/**
 * The text form of label selectors: `env=prod,tier in (web,db),!old,n>3`.
 *
 * The grammar, the order of checks and the texts of the errors are those of kube-apiserver, since clients show
 * them to people. It fails with a BadRequest that says what was found and what was expected.
 */
import { type FieldError, fieldErrorText, invalidValue } from '../errors/field-error.ts';
import { badRequest } from '../errors/status-error.ts';
import { checkLabelValue, checkQualifiedName } from '../scalars/names.ts';

export type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

export type LabelRequirement = {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, no doubles: one for `=`, `!=`, `>`, `<`; none for `exists` and `!`. */
  readonly values: readonly string[];
};

/** Every requirement of a selector, in the order written. */
export function parseRequirements(text: string): LabelRequirement[] {
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek() === '') return requirements;
  if (!startsRequirement(tokens)) {
    throw badRequest(`found '${tokens.peek()}', expected: !, identifier, or 'end of string'`);
  }
  for (;;) {
    requirements.push(parseRequirement(tokens));
    const next = tokens.take();
    if (next === '') return requirements;
    if (next !== ',') throw badRequest(`found '${next}', expected: ',' or 'end of string'`);
    if (!startsRequirement(tokens)) throw badRequest(`found '${tokens.peek()}', expected: identifier after ','`);
  }
}

/** What is wrong with a requirement; `[]` if nothing. */
export function checkRequirement({ key, operator, values }: LabelRequirement): FieldError[] {
  const errors = checkKey(key);
  if ((operator === '>' || operator === '<') && !isInt64(values[0] ?? '')) {
    errors.push(invalidValue('values[0]', values[0] ?? '', "for 'Gt', 'Lt' operators, the value must be an integer"));
  }
  for (const [index, value] of values.entries()) {
    const problems = checkLabelValue(value);
    if (problems.length > 0) errors.push(invalidValue(`values[${index}][${key}]`, value, problems.join('; ')));
  }
  return errors;
}

/** A whole number in base ten that fits 64 bits: what `>` and `<` can compare. */
export function isInt64(text: string): boolean {
  if (!/^[+-]?[0-9]+$/.test(text)) return false;
  const digits = text.replace(/^[+-]?0*/, '');
  if (digits.length < 19) return true;
  return digits.length === 19 && digits <= (text.startsWith('-') ? '9223372036854775808' : '9223372036854775807');
}

const operators: ReadonlyMap<string, LabelOperator> = new Map([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['>', '>'],
  ['<', '<'],
]);

function parseRequirement(tokens: Tokens): LabelRequirement {
  const isNegated = tokens.peek() === '!';
  if (isNegated) tokens.take();
  const key = tokens.take();
  if (!isIdentifier(key)) throw refuse(`found '${key}', expected: identifier`);
  throwFirst(checkKey(key));
  if (isNegated) return { key, operator: '!', values: [] };
  if (tokens.peek() === '' || tokens.peek() === ',') return { key, operator: 'exists', values: [] };
  const found = tokens.take();
  const operator = operators.get(found);
  if (!operator) throw refuse(`found '${found}', expected: in, notin, =, ==, !=, gt, lt`);
  const isSet = operator === 'in' || operator === 'notin';
  const values = isSet ? parseValues(tokens) : [parseExactValue(tokens)];
  const requirement = { key, operator, values: [...new Set(values)].sort() };
  throwFirst(checkRequirement(requirement));
  return requirement;
}

function parseExactValue(tokens: Tokens): string {
  if (tokens.peek() === '' || tokens.peek() === ',') return '';
  const value = tokens.take();
  if (!isIdentifier(value)) throw refuse(`found '${value}', expected: identifier`);
  return value;
}

/** `(a,b)`; a value left out is the empty one. */
function parseValues(tokens: Tokens): string[] {
  const open = tokens.take();
  if (open !== '(') throw refuse(`found '${open}' expected: '('`);
  const first = tokens.peek();
  if (!isIdentifier(first) && first !== ',' && first !== ')') {
    throw refuse(`found '${first}', expected: ',', ')' or identifier`);
  }
  const values: string[] = [];
  for (;;) {
    values.push(isIdentifier(tokens.peek()) ? tokens.take() : '');
    const next = tokens.peek();
    if (next === ')') break;
    if (next !== ',') throw refuse(`found '${next}', expected: ',' or ')'`);
    tokens.take();
    const after = tokens.peek();
    if (!isIdentifier(after) && after !== ',' && after !== ')') {
      throw refuse(`found '${after}', expected: ',', or identifier`);
    }
  }
  tokens.take();
  return values;
}

function startsRequirement(tokens: Tokens): boolean {
  return tokens.peek() === '!' || isIdentifier(tokens.peek());
}

function checkKey(key: string): FieldError[] {
  const problems = checkQualifiedName(key);
  return problems.length > 0 ? [invalidValue('<nil>', key, problems.join('; '))] : [];
}

function throwFirst(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const texts = errors.map(fieldErrorText);
  throw refuse(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
}

function refuse(why: string): Error {
  return badRequest(`unable to parse requirement: ${why}`);
}

const tokenPattern = /[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)/y;

function isIdentifier(token: string): boolean {
  return token !== '' && !'=!(),<>'.includes(token[0]!);
}

/** The tokens of a selector one by one; the empty string is its end, and stays so. */
class Tokens {
  readonly #text: string;
  #offset = 0;
  #next: string;

  constructor(text: string) {
    const end = text.indexOf('\0');
    this.#text = end < 0 ? text : text.slice(0, end);
    this.#next = this.#scan();
  }

  peek(): string {
    return this.#next;
  }

  take(): string {
    const token = this.#next;
    this.#next = this.#scan();
    return token;
  }

  #scan(): string {
    tokenPattern.lastIndex = this.#offset;
    const match = tokenPattern.exec(this.#text);
    if (!match) return '';
    this.#offset = tokenPattern.lastIndex;
    return match[1]!;
  }
}
