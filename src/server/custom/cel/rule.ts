/**
 * One rule: its text compiled and its cost known. What does not compile is a RuleError with the words of the reference
 * server; what fails while it runs is a failed rule, never an exception.
 */
import {
  TypeError as CelTypeError,
  type Environment,
  EvaluationError,
  Optional,
  ParseError,
} from '@marcbachmann/cel-js';
import { compilePattern, PatternError } from '../pattern.ts';
import type { RuleText } from '../structural.ts';

export class RuleError extends Error {
  override readonly name = 'RuleError';
}

export type RuleVariables = { readonly self: unknown; readonly oldSelf?: unknown };

export type Rule = {
  readonly text: RuleText;
  /** Judges a change, not a state. */
  readonly isTransition: boolean;
  /** How deep its loops are nested. */
  readonly loops: number;
  /** Whether it takes texts apart, so that their length counts as well. */
  readonly splitsText: boolean;
  /** Undefined: it holds; else what is wrong. */
  judge(variables: RuleVariables): string | undefined;
};

type Node = { readonly op: string; args: unknown; readonly start?: number };
type Expression = ReturnType<Environment['parse']>;

const LIMIT_CHARACTERS = 10_000;
const LIMIT_MESSAGE_CHARACTERS = 5120;
const MACROS: ReadonlySet<unknown> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

export function compileRule(text: RuleText, environment: Environment): Rule {
  const { rule, message, messageExpression } = text;
  const { expression, facts } = compile(rule, environment, 'bool');
  const told = messageExpression ? compile(messageExpression, environment, 'string').expression : undefined;
  return {
    text,
    ...facts,
    judge: (variables) => {
      const context = contextOf(text, variables);
      try {
        if (expression(context) === true) return undefined;
      } catch (err) {
        if (!(err instanceof Error)) throw err;
        return `${message ?? `failed rule: ${rule.trim()}`}: ${firstLine(err.message)}`;
      }
      return messageFrom(told, context) ?? message ?? `failed rule: ${rule.trim()}`;
    },
  };
}

function compile(text: string, environment: Environment, wanted: string) {
  if (text.length > LIMIT_CHARACTERS) throw new RuleError(`must not be longer than ${LIMIT_CHARACTERS} characters`);
  try {
    const expression = environment.parse(withIndexedHas(text));
    const facts = examine(expression.ast as unknown as Node);
    const checked = expression.check();
    if (!checked.valid) throw checked.error ?? new RuleError('does not compile');
    if (checked.type !== wanted && checked.type !== 'dyn') throw new RuleError(`must evaluate to a ${wanted}`);
    return { expression, facts };
  } catch (err) {
    if (err instanceof PatternError) throw new RuleError(`compilation failed: ${err.message}`, { cause: err });
    if (!(err instanceof ParseError || err instanceof CelTypeError || err instanceof EvaluationError)) throw err;
    throw new RuleError(`compilation failed: ${located(err, text)}`, { cause: err });
  }
}

/**
 * `has(a[0].b)` is good CEL but not to the parser, which wants names only: it becomes a call of our own. Everything else,
 * texts in quotes included, stays as it is.
 */
function withIndexedHas(text: string): string {
  if (!/\bhas\s*\([^)]*\[/.test(text)) return text;
  return text.replace(
    /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\bhas\s*\(([^()]*\][^()]*)\.(\w+)\s*\)/g,
    (whole, owner, field) => (field === undefined ? whole : `hasField(${owner}, "${field}")`),
  );
}

/** Walks a parsed expression: what it costs, what it uses. Calls of `matches` are led to our own engine. */
function examine(root: Node) {
  const facts = { isTransition: false, splitsText: false, loops: 0 };
  const visit = (value: unknown, loops: number): void => {
    if (Array.isArray(value)) for (const one of value) visit(one, loops);
    if (!isNode(value)) return;
    const { op, args } = value;
    facts.loops = Math.max(facts.loops, loops);
    if (op === 'id' && args === 'oldSelf') facts.isTransition = true;
    if (op === 'rcall' && Array.isArray(args)) {
      if (args[0] === 'split') facts.splitsText = true;
      if (args[0] === 'matches') leadToEngine(args);
      if (MACROS.has(args[0])) {
        visit(args[1], loops);
        visit(args[2], loops + 1);
        return;
      }
    }
    visit(args, loops);
  };
  visit(root, 0);
  return facts;
}

function leadToEngine(args: unknown[]): void {
  args[0] = 'matchesPattern';
  const [pattern] = Array.isArray(args[2]) ? (args[2] as unknown[]) : [];
  if (isNode(pattern) && pattern.op === 'value' && typeof pattern.args === 'string') compilePattern(pattern.args);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

function contextOf({ optionalOldSelf }: RuleText, { self, oldSelf }: RuleVariables): Record<string, unknown> {
  if (optionalOldSelf) return { self, oldSelf: oldSelf === undefined ? Optional.none() : Optional.of(oldSelf) };
  return oldSelf === undefined ? { self } : { self, oldSelf };
}

/** Undefined where it gives no single line: then the plain message stands. */
function messageFrom(told: Expression | undefined, context: Record<string, unknown>): string | undefined {
  if (!told) return undefined;
  try {
    const text: unknown = told(context);
    if (typeof text !== 'string' || text.trim() === '' || text.includes('\n')) return undefined;
    return text.length > LIMIT_MESSAGE_CHARACTERS ? undefined : text.trim();
  } catch {
    return undefined;
  }
}

/** The place of a fault as the reference server draws it. */
function located(err: Error & { range?: { start: number } | undefined }, text: string): string {
  const at = err.range?.start ?? 0;
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - (before.lastIndexOf('\n') + 1);
  const why = firstLine(err.message).replace(/^No such key: (.*)$/, "undefined field '$1'");
  return `ERROR: <input>:${line}:${column + 1}: ${why}\n | ${text.split('\n')[line - 1]}\n | ${'.'.repeat(column)}^`;
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
