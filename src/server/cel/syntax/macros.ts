/** Calls that are not calls: `has`, the loops, `cel.bind`, and what looks into optionals. */
import { type Expression, ExpressionFault, type ExpressionNode, type LoopMacro } from './syntax.ts';

type Expanded = { readonly node: ExpressionNode; readonly below: readonly Expression[] };

const tests: ReadonlyMap<string, LoopMacro> = new Map([
  ['all', 'all'],
  ['exists', 'exists'],
  ['exists_one', 'existsOne'],
  ['existsOne', 'existsOne'],
]);

const pairLoops: ReadonlySet<LoopMacro> = new Set(['transformList', 'transformMap', 'transformMapEntry']);

/** Undefined if it is a call after all. */
export function expandMacro(
  at: number,
  name: string,
  args: readonly Expression[],
  target: Expression | undefined,
): Expanded | undefined {
  if (!target) return name === 'has' && args.length === 1 ? expandHas(args[0]!) : undefined;
  const test = tests.get(name);
  if (test && (args.length === 2 || args.length === 3)) return loop(test, target, args.slice(0, -1), args.at(-1)!);
  if (name === 'filter' && args.length === 2) return loop('filter', target, args.slice(0, 1), args[1]!);
  if (name === 'map' && (args.length === 2 || args.length === 3))
    return loop('map', target, args.slice(0, 1), args.at(-1)!, args.length === 3 ? args[1] : undefined);
  if (name === 'sortBy' && args.length === 2) return loop('sortBy', target, args.slice(0, 1), args[1]!);
  if (pairLoops.has(name as LoopMacro) && (args.length === 3 || args.length === 4))
    return loop(name as LoopMacro, target, args.slice(0, 2), args.at(-1)!, args.length === 4 ? args[2] : undefined);
  if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) {
    const body = args[1]!;
    const isFlat = name === 'optFlatMap';
    return { node: { kind: 'optionalMap', of: target, name: nameOf(args[0]!), body, isFlat }, below: [target, body] };
  }
  if (name === 'bind' && target.kind === 'name' && target.name === 'cel' && args.length === 3) {
    const [, value, body] = args as [Expression, Expression, Expression];
    return { node: { kind: 'bind', name: nameOf(args[0]!), value, body }, below: [value, body] };
  }
  return undefined;

  function nameOf(expression: Expression): string {
    if (expression.kind === 'name') return expression.name;
    throw new ExpressionFault(expression.at ?? at, 'argument must be a simple name');
  }

  function loop(
    macro: LoopMacro,
    range: Expression,
    variables: readonly Expression[],
    body: Expression,
    filter?: Expression,
  ): Expanded {
    const names = variables.map(nameOf);
    if (names.length === 2 && names[0] === names[1])
      throw new ExpressionFault(variables[1]!.at, `duplicate variable name: ${names[0]}`);
    const below = filter ? [range, body, filter] : [range, body];
    return { node: { kind: 'loop', macro, range, names, body, ...(filter && { filter }) }, below };
  }
}

function expandHas(argument: Expression): Expanded {
  if (argument.kind !== 'select' || argument.how !== 'get')
    throw new ExpressionFault(argument.at, 'invalid argument to has() macro');
  return { node: { kind: 'select', of: argument.of, field: argument.field, how: 'has' }, below: [argument.of] };
}
