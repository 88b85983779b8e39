/**
 * Calls: which of the functions of a name is meant. Those that go with the types of the arguments are found when the call
 * is compiled; where several do, or a type is not known, the values decide when they are there.
 */
import { checkPatternSyntax, PatternError } from '../../../schemas/patterns/pattern.ts';
import { toDuration, toTimestamp } from '../library/conversions.ts';
import type { Overload } from '../library/overloads.ts';
import { dottedName, type Expression } from '../syntax/syntax.ts';
import { type CelType, dyn, filledIn, isAssignable, joined, typeName } from '../values/types.ts';
import { CelError, Optional, type Value } from '../values/values.ts';
import { type Compiled, type Compiling, findName, type Scope, type Step } from './scope.ts';

type Call = Extract<Expression, { kind: 'call' }>;

const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

export function compileCall(compiler: Compiling, call: Call, scope: Scope | undefined): Compiled {
  const spaced = spacedName(compiler, call, scope);
  const isMember = call.target !== undefined && spaced === undefined;
  const name = spaced ?? call.name;
  const given = isMember ? [call.target!, ...call.args] : call.args;
  const args = given.map((argument) => compiler.compile(argument, scope, name === 'format'));
  const types = args.map(({ type }) => type);
  const candidates = compiler.functions.find(name, isMember, args.length);
  const matching: Overload[] = [];
  let result: CelType | undefined;
  for (const candidate of candidates) {
    const bindings = new Map<string, CelType>();
    if (!candidate.params.every((param, i) => isAssignable(param, types[i]!, bindings))) continue;
    const gives = filledIn(candidate.result, bindings);
    result = result === undefined || typeName(result) === typeName(gives) ? gives : dyn;
    matching.push(candidate);
  }
  if (!result) return compiler.fault(call.at, noOverload(compiler, name, isMember, types));
  if (PATTERN_FUNCTIONS.has(name)) checkLiteralPattern(compiler, name, given[1]);
  if (literalReaders.has(name)) checkLiteral(compiler, name, given[0]);
  const steps = args.map(({ run }) => run);
  return { type: result, run: caller(matching, steps) };
}

/**
 * `a.or(b)`, `a.orValue(b)`: the other is worked out only if it is needed. Undefined if it is another call.
 */
export function compileFallback(compiler: Compiling, call: Call, scope: Scope | undefined): Compiled | undefined {
  const { name, target, args, at } = call;
  if (!target || args.length !== 1 || (name !== 'or' && name !== 'orValue')) return undefined;
  const [optional, other] = [compiler.compile(target, scope), compiler.compile(args[0]!, scope)];
  const inner = optional.type.kind === 'optional' ? optional.type.of : optional.type;
  const wanted = name === 'or' ? optional.type : inner;
  const type = joined(wanted, other.type);
  if (!type || (optional.type.kind !== 'optional' && optional.type.kind !== 'dyn'))
    return compiler.fault(at, noOverload(compiler, name, true, [optional.type, other.type]));
  return {
    type,
    run: (frame) => {
      frame.budget.charge(1);
      const value = optional.run(frame);
      if (!(value instanceof Optional)) throw new CelError('no such overload');
      if (!value.hasValue) return other.run(frame);
      return name === 'or' ? value : value.value;
    },
  };
}

/** `sets.contains` is one name, unless `sets` is somebody's. */
function spacedName({ functions }: Compiling, { target, name }: Call, scope: Scope | undefined): string | undefined {
  const space = target && dottedName(target);
  if (space === undefined || findName(space.split('.')[0]!, scope)) return undefined;
  return functions.has(`${space}.${name}`) ? `${space}.${name}` : undefined;
}

/** Written out by the number of arguments, for the same reason as functions are. */
function caller(matching: readonly Overload[], steps: readonly Step[]): Step {
  const [first, second, third, fourth] = steps;
  switch (steps.length) {
    case 0:
      return ({ budget }) => matching[0]!.run(budget, undefined);
    case 1:
      return (frame) => {
        const a = first!(frame);
        return pick(matching, a).run(frame.budget, a);
      };
    case 2:
      return (frame) => {
        const [a, b] = [first!(frame), second!(frame)];
        return pick(matching, a, b).run(frame.budget, a, b);
      };
    default:
      return (frame) => {
        const [a, b, c, d] = [first!(frame), second!(frame), third!(frame), fourth?.(frame)];
        return pick(matching, a, b, c, d).run(frame.budget, a, b, c, d);
      };
  }
}

function pick(matching: readonly Overload[], a: Value, b?: Value, c?: Value, d?: Value): Overload {
  for (let i = 0; i < matching.length; i++) if (matching[i]!.fits(a, b, c, d)) return matching[i]!;
  throw new CelError('no such overload');
}

function checkLiteralPattern(compiler: Compiling, name: string, pattern: Expression | undefined): void {
  if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string') return;
  try {
    checkPatternSyntax(pattern.value);
  } catch (err) {
    if (!(err instanceof PatternError)) throw err;
    compiler.fault(pattern.at, name === 'matches' ? 'invalid matches argument' : err.message);
  }
}

/** What is read from a literal each time would fail each time. */
const literalReaders: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ['duration', toDuration],
  ['timestamp', toTimestamp],
]);

function checkLiteral(compiler: Compiling, name: string, text: Expression | undefined): void {
  if (text?.kind !== 'literal' || typeof text.value !== 'string') return;
  try {
    literalReaders.get(name)!(text.value);
  } catch (err) {
    if (!(err instanceof CelError)) throw err;
    compiler.fault(text.at, `invalid ${name} argument`);
  }
}

function noOverload({ functions }: Compiling, name: string, isMember: boolean, types: readonly CelType[]): string {
  if (!functions.has(name)) return `undeclared reference to '${name}' (in container '')`;
  const [target, ...args] = types.map(typeName);
  const shown = isMember ? `${target}.(${args.join(', ')})` : `(${[target, ...args].join(', ')})`;
  return `found no matching overload for '${name}' applied to '${shown}'`;
}
