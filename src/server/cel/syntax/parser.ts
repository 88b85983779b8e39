/**
 * An expression from its text, by descent; the grammar is CEL's. Chains of `&&` and `||` are one node each. How deep an
 * expression may nest is limited, so that everybody after the parser can walk it by calling itself. Fails with an
 * ExpressionError in the words of kube-apiserver's parser: as there, one token too many or too few is told and passed
 * over, and the first fault that cannot be mended so is the last.
 */
import { MOST_FAULTS, readTokens, type Token } from './lexer.ts';
import { expandMacro } from './macros.ts';
import {
  dottedName,
  type Expression,
  ExpressionError,
  ExpressionFault,
  type ExpressionNode,
  type MapEntry,
  type StructField,
} from './syntax.ts';

const LIMIT_DEPTH = 250;
const STARTS =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);
const RELATIONS = new Set(['<', '<=', '>', '>=', '==', '!=', 'in']);

export function parseExpression(text: string): Expression {
  const faults: ExpressionFault[] = [];
  try {
    const read = readTokens(text);
    faults.push(...read.faults);
    const expression = new Parser(read.tokens, faults).parse();
    if (faults.length === 0) return expression;
  } catch (err) {
    if (!(err instanceof ExpressionFault)) throw err;
    faults.push(err);
  }
  faults.sort((a, b) => a.at - b.at);
  throw new ExpressionError(text, faults.slice(0, MOST_FAULTS));
}

class Parser {
  readonly #tokens: readonly Token[];
  /** What was wrong so far and could be passed over. */
  readonly #faults: ExpressionFault[];
  #index = 0;
  #nesting = 0;

  constructor(tokens: readonly Token[], faults: ExpressionFault[]) {
    this.#tokens = tokens;
    this.#faults = faults;
  }

  parse(): Expression {
    const expression = this.#expression();
    const { kind, text, at } = this.#peek();
    if (kind === 'end') return expression;
    const isLast = this.#tokens[this.#index + 1]?.kind === 'end';
    throw new ExpressionFault(
      at,
      `Syntax error: ${isLast ? 'extraneous' : 'mismatched'} input '${text}' expecting <EOF>`,
    );
  }

  #expression(): Expression {
    if (++this.#nesting > LIMIT_DEPTH) throw tooDeep(this.#peek().at);
    const condition = this.#logical('||', 'or', () => this.#logical('&&', 'and', () => this.#relation()));
    const question = this.#take('?');
    if (!question) {
      this.#nesting--;
      return condition;
    }
    const yes = this.#logical('||', 'or', () => this.#logical('&&', 'and', () => this.#relation()));
    this.#need(':');
    const no = this.#expression();
    this.#nesting--;
    return node(question.at, { kind: 'choose', condition, yes, no }, [condition, yes, no]);
  }

  #logical(sign: string, kind: 'and' | 'or', operand: () => Expression): Expression {
    const first = operand();
    const { at } = this.#peek();
    const operands = [first];
    while (this.#take(sign)) operands.push(operand());
    return operands.length === 1 ? first : node(at, { kind, operands }, operands);
  }

  #relation(): Expression {
    let left = this.#sum();
    while (RELATIONS.has(this.#peek().kind)) {
      const { kind, at } = this.#advance();
      left = call(at, kind === 'in' ? '@in' : `_${kind}_`, [left, this.#sum()]);
    }
    return left;
  }

  #sum(): Expression {
    return this.#binary(['+', '-'], () => this.#binary(['*', '/', '%'], () => this.#unary()));
  }

  #binary(signs: readonly string[], operand: () => Expression): Expression {
    let left = operand();
    while (signs.includes(this.#peek().kind)) {
      const { kind, at } = this.#advance();
      left = call(at, `_${kind}_`, [left, operand()]);
    }
    return left;
  }

  #unary(): Expression {
    const sign = this.#peek();
    if (sign.kind !== '!' && sign.kind !== '-') return this.#member();
    this.#advance();
    if (++this.#nesting > LIMIT_DEPTH) throw tooDeep(sign.at);
    const operand = sign.kind === '-' && isNumber(this.#peek()) ? this.#negative(sign) : undefined;
    const made = operand ?? call(sign.at, sign.kind === '!' ? '!_' : '-_', [this.#unary()]);
    this.#nesting--;
    return made;
  }

  /** A minus before a number belongs to it: only so can the least of all ints be written. */
  #negative({ at }: Token): Expression {
    const { value } = this.#advance();
    const literal = node(at, { kind: 'literal', value: -(value as number | bigint) as number | bigint }, []);
    return this.#postfix(literal);
  }

  #member(): Expression {
    return this.#postfix(this.#primary());
  }

  #postfix(start: Expression): Expression {
    let left = start;
    for (;;) {
      const sign = this.#peek();
      if (sign.kind === '.') {
        this.#advance();
        left = this.#selection(sign, left);
      } else if (sign.kind === '[') {
        this.#advance();
        const isOptional = this.#take('?') !== undefined;
        const key = this.#expression();
        this.#need(']');
        left = node(sign.at, { kind: 'index', of: left, key, isOptional }, [left, key]);
      } else {
        const name = sign.kind === '{' ? dottedName(left) : undefined;
        if (name === undefined) return left;
        left = this.#struct(this.#advance(), name);
      }
    }
  }

  /** `Name{field: value}`: a value of a named type. */
  #struct({ at }: Token, name: string): Expression {
    const fields: StructField[] = [];
    while (!this.#take('}')) {
      if (fields.length > 0) {
        this.#need(',');
        if (this.#take('}')) break;
      }
      const isOptional = this.#take('?') !== undefined;
      const field = this.#need('name').text;
      const colon = this.#need(':');
      fields.push({ name: field, value: this.#expression(), isOptional, at: colon.at });
    }
    return node(
      at,
      { kind: 'struct', name, fields },
      fields.map(({ value }) => value),
    );
  }

  #selection({ at }: Token, of: Expression): Expression {
    const isOptional = this.#take('?') !== undefined;
    const name = this.#peek();
    // After a dot every word is a name but these.
    if ((name.kind !== 'name' && name.kind !== 'literal') || !/^[A-Za-z_]\w*$/.test(name.text))
      throw new ExpressionFault(
        name.at,
        `Syntax error: no viable alternative at input '.${name.kind === 'end' ? '' : name.text}'`,
      );
    if (name.kind === 'literal')
      throw new ExpressionFault(name.at, `Syntax error: mismatched input '${name.text}' expecting IDENTIFIER`);
    this.#advance();
    const open = this.#peek();
    if (isOptional || !this.#take('(')) {
      return node(at, { kind: 'select', of, field: name.text, how: isOptional ? 'optional' : 'get' }, [of]);
    }
    return this.#called(open, name.text, this.#list(')'), of);
  }

  #called({ at }: Token, name: string, args: readonly Expression[], target?: Expression): Expression {
    const macro = expandMacro(at, name, args, target);
    if (macro) return node(at, macro.node, macro.below);
    return call(at, name, args, target);
  }

  #primary(): Expression {
    this.#passOverNonStart();
    const token = this.#advance();
    switch (token.kind) {
      case 'literal': {
        if (token.value === 2n ** 63n) throw new ExpressionFault(token.at, 'invalid int literal');
        return node(token.at, { kind: 'literal', value: token.value }, []);
      }
      case '(': {
        const inner = this.#expression();
        this.#need(')');
        return inner;
      }
      case '[':
        return this.#listLiteral(token);
      case '{':
        return this.#mapLiteral(token);
      case '.': // a name from the outermost scope: there is only one
      case 'name': {
        const name = token.kind === '.' ? this.#need('name') : token;
        if (reserved.has(name.text)) throw new ExpressionFault(name.at, `reserved identifier: ${name.text}`);
        const open = this.#take('(');
        if (open) return this.#called(open, name.text, this.#list(')'));
        return node(name.at, { kind: 'name', name: name.text }, []);
      }
      default:
        throw new ExpressionFault(token.at, `Syntax error: mismatched input '${token.text}' expecting ${STARTS}`);
    }
  }

  /** One token where an expression should begin, before one that can begin it, is one too many. */
  #passOverNonStart(): void {
    const { kind, text, at } = this.#peek();
    const next = this.#tokens[this.#index + 1];
    if (kind === 'end' || isStart(kind) || !next || !isStart(next.kind)) return;
    this.#faults.push(new ExpressionFault(at, `Syntax error: extraneous input '${text}' expecting ${STARTS}`));
    this.#advance();
  }

  /** Expressions up to the closing sign; a comma may come last. */
  #list(close: string): Expression[] {
    const items: Expression[] = [];
    while (!this.#closes(close, items.length)) items.push(this.#expression());
    return items;
  }

  /** Whether a list ends here; if not, its next element begins. A first one may be missing altogether. */
  #closes(close: string, count: number): boolean {
    if (this.#take(close)) return true;
    const { kind, text, at } = this.#peek();
    if (count > 0) {
      if (kind !== ',') return this.#need(close) !== undefined;
      this.#advance();
      return this.#take(close) !== undefined;
    }
    if (isStart(kind) || (kind === '?' && close !== ')') || isStart(this.#tokens[this.#index + 1]?.kind)) return false;
    throw new ExpressionFault(at, `Syntax error: mismatched input '${text}' expecting ${startsOrEnd(close)}`);
  }

  #listLiteral({ at }: Token): Expression {
    const items: Expression[] = [];
    const optional = new Set<number>();
    while (!this.#closes(']', items.length)) {
      if (this.#take('?')) optional.add(items.length);
      items.push(this.#expression());
    }
    return node(at, { kind: 'list', items, optional }, items);
  }

  #mapLiteral({ at }: Token): Expression {
    const entries: MapEntry[] = [];
    while (!this.#closes('}', entries.length)) {
      const isOptional = this.#take('?') !== undefined;
      const key = this.#expression();
      this.#need(':');
      entries.push({ key, value: this.#expression(), isOptional });
    }
    return node(
      at,
      { kind: 'map', entries },
      entries.flatMap(({ key, value }) => [key, value]),
    );
  }

  #peek(): Token {
    return this.#tokens[this.#index]!;
  }

  #advance(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  #take(kind: string): Token | undefined {
    return this.#peek().kind === kind ? this.#advance() : undefined;
  }

  #need(kind: string): Token {
    const token = this.#take(kind);
    if (token) return token;
    const found = this.#peek();
    const { text, at } = found;
    const wanted = kind === 'name' ? 'IDENTIFIER' : `'${kind}'`;
    if (this.#tokens[this.#index + 1]?.kind === kind) {
      this.#faults.push(new ExpressionFault(at, `Syntax error: extraneous input '${text}' expecting ${wanted}`));
      this.#advance();
      return this.#advance();
    }
    if (found.kind === 'end' && CLOSING.has(kind)) {
      this.#faults.push(new ExpressionFault(at, `Syntax error: missing ${wanted} at '<EOF>'`));
      return found;
    }
    throw new ExpressionFault(at, `Syntax error: mismatched input '${text}' expecting ${wanted}`);
  }
}

const CLOSING: ReadonlySet<string> = new Set([')', ']', '}']);
const STARTING: ReadonlySet<string> = new Set(['[', '{', '(', '.', '-', '!', 'literal', 'name']);

function isStart(kind: string | undefined): boolean {
  return kind !== undefined && STARTING.has(kind);
}

/** What may stand behind the sign that opens a list: signs in the order in which the parser knows them. */
function startsOrEnd(close: string): string {
  if (close === ')') return STARTS.replace("'('", "'(', ')'");
  const open = close === ']' ? '[' : '{';
  return STARTS.replace(`'${open}'`, `'${open}', '${close}'`).replace("'.'", "'.', ','").replace("'!'", "'!', '?'");
}

function isNumber({ kind, value }: Token): boolean {
  return kind === 'literal' && (typeof value === 'bigint' || typeof value === 'number');
}

function call(at: number, name: string, args: readonly Expression[], target?: Expression): Expression {
  return node(at, { kind: 'call', name, args, ...(target && { target }) }, target ? [target, ...args] : args);
}

function node(at: number, given: ExpressionNode, below: readonly Expression[]): Expression {
  let depth = 0;
  for (const one of below) depth = Math.max(depth, one.depth);
  if (++depth > LIMIT_DEPTH) throw tooDeep(at);
  return { ...given, at, depth };
}

function tooDeep(at: number): ExpressionFault {
  return new ExpressionFault(at, `expression recursion limit exceeded: ${LIMIT_DEPTH}`);
}
