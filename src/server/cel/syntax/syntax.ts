/**
 * Expressions as the parser leaves them: a tree in which macros are already what they stand for. `at` is the place in
 * the text that an error about the node points to, `depth` how many nodes are below it in a row.
 */
import type { Value } from '../values/values.ts';

export type LoopMacro =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'
  | 'sortBy';

type Node =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'select';
      readonly of: Expression;
      readonly field: string;
      readonly how: 'get' | 'has' | 'optional';
    }
  | { readonly kind: 'index'; readonly of: Expression; readonly key: Expression; readonly isOptional: boolean }
  | { readonly kind: 'call'; readonly name: string; readonly target?: Expression; readonly args: readonly Expression[] }
  | { readonly kind: 'list'; readonly items: readonly Expression[]; readonly optional: ReadonlySet<number> }
  | { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly StructField[] }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] }
  | { readonly kind: 'choose'; readonly condition: Expression; readonly yes: Expression; readonly no: Expression }
  | {
      readonly kind: 'loop';
      readonly macro: LoopMacro;
      readonly range: Expression;
      /** One, or two: index and element, key and value. */
      readonly names: readonly string[];
      readonly filter?: Expression;
      readonly body: Expression;
    }
  | { readonly kind: 'bind'; readonly name: string; readonly value: Expression; readonly body: Expression }
  | {
      readonly kind: 'optionalMap';
      readonly of: Expression;
      readonly name: string;
      readonly body: Expression;
      /** The body gives an optional itself. */
      readonly isFlat: boolean;
    };

export type MapEntry = { readonly key: Expression; readonly value: Expression; readonly isOptional: boolean };
/** `at` is the place of the colon. */
export type StructField = {
  readonly name: string;
  readonly value: Expression;
  readonly isOptional: boolean;
  readonly at: number;
};
export type Expression = Node & { readonly at: number; readonly depth: number };
export type ExpressionNode = Node;

/** One fault in the text of an expression. */
export class ExpressionFault {
  readonly at: number;
  readonly why: string;

  constructor(at: number, why: string) {
    this.at = at;
    this.why = why;
  }
}

/** An expression that cannot be compiled; the message shows every fault at its place, as kube-apiserver does. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';

  constructor(text: string, faults: readonly ExpressionFault[]) {
    super(faults.map((fault) => located(fault, text)).join('\n'));
  }
}

function located({ at, why }: ExpressionFault, text: string): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const lineEnd = text.indexOf('\n', at);
  const line = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd);
  const number = text.slice(0, lineStart).split('\n').length;
  const column = at - lineStart;
  const fault = `ERROR: <input>:${number}:${column + 1}: ${why}`;
  // Of an empty text there is nothing to show.
  return text === '' ? fault : `${fault}\n | ${line}\n | ${'.'.repeat(column)}^`;
}

/** `a.b.c` as one name, if it could be one. */
export function dottedName(expression: Expression): string | undefined {
  if (expression.kind === 'name') return expression.name;
  if (expression.kind !== 'select' || expression.how !== 'get') return undefined;
  const owner = dottedName(expression.of);
  return owner === undefined ? undefined : `${owner}.${expression.field}`;
}
