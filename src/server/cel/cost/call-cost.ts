/**
 * What calls cost at most, and how long their results may be, as kube-apiserver reckons before anything runs. A call that
 * is not here costs one unit, whatever it is given, as it does there; a result that is not here may be of any length.
 *
 * These figures decide which rules a definition may have, so they are kube-apiserver's to the unit, its oversights
 * included: what it forgot to charge is not charged here.
 */
import type { CelType } from '../values/types.ts';
import { either, ONE, plus, product, type Size, times, walk } from './size.ts';

/** Something that is given to a call. */
export type Given = {
  readonly type: CelType;
  readonly size: Size;
  /** Of a list: what is known of its elements. */
  readonly element?: { readonly type: CelType; readonly size: Size };
};

export type CallCost = { readonly cost: number; readonly size?: Size };

type Reckon = (args: readonly Given[], target: Given) => CallCost | undefined;

/** A share of a unit for each character of a pattern: most parts of one are longer than four. */
const PATTERN_FACTOR = 0.25;
const LONGEST_NAME_PATTERN = 128;
const ADDRESS: Size = { min: 4, max: 16 };

const ofTarget: Reckon = (_args, { size }) => ({ cost: walk(size), size });
const traversal: Reckon = (_args, { size, element }) => {
  if (!element) return { cost: walk(size) };
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
  return { cost: product(size.max, 1 + (isText ? walk(element.size) : 0)) };
};
const search: Reckon = ([pattern], { size }) =>
  pattern && { cost: matching(size, pattern.size), size: { min: 0, max: size.max } };

/** Behind a value, by name. */
const members: Readonly<Record<string, Reckon>> = {
  isSorted: traversal,
  sum: traversal,
  max: traversal,
  min: traversal,
  indexOf: traversal,
  lastIndexOf: traversal,
  lowerAscii: ofTarget,
  upperAscii: ofTarget,
  substring: ofTarget,
  trim: ofTarget,
  replace: ([from, to], { size }) => from && to && { cost: walk(size, 2), size: replaced(size, from.size, to.size) },
  split: (_args, { size }) => ({ cost: walk(size, 2), size: { min: 0, max: size.max } }),
  join: ([separator], list) => {
    const parts = list.element ? times(list.size, list.element.size) : { min: 0, max: 0 };
    const gaps = { min: Math.max(list.size.min - 1, 0), max: Math.max(list.size.max - 1, 0) };
    const size = separator ? plus(parts, times(separator.size, gaps)) : parts;
    return { cost: walk(size), size };
  },
  find: search,
  findAll: search,
  matches: ([pattern], { size }) => pattern && { cost: matching(size, pattern.size) },
  contains: ([part], { size }) => part && { cost: product(walk(size), walk(part.size)) },
  startsWith: ([part]) => part && { cost: walk(part.size) },
  endsWith: ([part]) => part && { cost: walk(part.size) },
  format: (_args, { size }) => ({ cost: walk(size) }),
  validate: ([text]) => text && { cost: Math.ceil(product(walk(text.size), LONGEST_NAME_PATTERN * PATTERN_FACTOR)) },
  containsIP: ([other]) => other && { cost: walk(plus(ADDRESS, ADDRESS)) + parsed(other) },
  containsCIDR: ([other]) => other && { cost: walk(plus(ADDRESS, ADDRESS)) + walk(ADDRESS) + 1 + parsed(other) },
  check: () => ({ cost: 350_000 }),
};

/** Before its arguments, by name. */
const globals: Readonly<Record<string, Reckon>> = {
  url: ([text]) => text && { cost: walk(text.size) },
  matches: ([text, pattern]) => text && pattern && { cost: matching(text.size, pattern.size) },
  bytes: ([text]) => text && { cost: walk(text.size), size: { min: text.size.min, max: text.size.max * 4 } },
  string: ([bytes]) =>
    bytes?.type.kind === 'bytes'
      ? { cost: walk(bytes.size), size: { min: Math.floor(bytes.size.min / 4), max: bytes.size.max } }
      : undefined,
  'strings.quote': ([text]) =>
    text && { cost: walk(text.size), size: { min: text.size.min + 2, max: text.size.max * 2 + 2 } },
  'sets.contains': (args) => sets(args, 1),
  'sets.intersects': (args) => sets(args, 1),
  'sets.equivalent': (args) => sets(args, 2),
  '@in': ([, list]) => (list?.type.kind === 'map' ? undefined : list && { cost: list.size.max }),
  '_+_': ([a, b]) => a && b && added(a, b),
  '_==_': ([a, b]) => a && b && { cost: compared(a, b) },
  '_!=_': ([a, b]) => a && b && { cost: compared(a, b) },
  '_<_': ordered,
  '_<=_': ordered,
  '_>_': ordered,
  '_>=_': ordered,
};

/** Without what its arguments cost. */
export function callCost(name: string, target: Given | undefined, args: readonly Given[]): CallCost {
  const table = target ? members : globals;
  const reckon = Object.hasOwn(table, name) ? table[name] : undefined;
  return reckon?.(args, target!) ?? { cost: 1 };
}

function matching(text: Size, pattern: Size): number {
  return product(walk(plus(text, ONE)), Math.ceil(pattern.max * PATTERN_FACTOR));
}

/** A text must be read before it is compared with. */
function parsed({ type, size }: Given): number {
  return type.kind === 'string' ? walk(size) : 0;
}

function sets([a, b]: readonly Given[], factor: number): CallCost | undefined {
  return a && b && { cost: Math.ceil(product(a.size.max, b.size.max) * factor) + 1 };
}

const LONG: ReadonlySet<string> = new Set(['string', 'bytes', 'list', 'dyn']);

function added(a: Given, b: Given): CallCost | undefined {
  if (!LONG.has(a.type.kind) || !LONG.has(b.type.kind)) return undefined;
  const size = plus(a.size, b.size);
  return { cost: a.type.kind === 'list' || b.type.kind === 'list' ? 1 : Math.max(walk(size), 1), size };
}

/** What is of a type with a name of its own has an end. */
function compared(a: Given, b: Given): number {
  if (a.type.kind === 'opaque' || b.type.kind === 'opaque') return walk(ADDRESS);
  return walk({ min: 0, max: Math.min(a.size.max, b.size.max) });
}

function ordered([a, b]: readonly Given[]): CallCost | undefined {
  const isText = ({ type: { kind } }: Given) => kind === 'string' || kind === 'bytes' || kind === 'dyn';
  if (!a || !b || !isText(a) || !isText(b)) return undefined;
  const cost = compared(a, b);
  return { cost: a.type.kind === 'dyn' && b.type.kind === 'dyn' ? Math.max(cost, 1) : cost };
}

/** The longest and the shortest that a text can become when parts of it are replaced. */
function replaced(text: Size, from: Size, to: Size): Size {
  const longest = (): number => {
    if (from.min === 0) return product(text.max + 1, to.max) + text.max; // between any two characters
    return to.max <= from.min ? text.max : product(Math.ceil(text.max / from.min), to.max);
  };
  const shortest = (): number => {
    if (from.max === 0) return product(text.min + 1, to.min) + text.min;
    return from.max <= to.min ? text.min : product(Math.ceil(text.min / from.max), to.min);
  };
  const [min, max] = [shortest(), longest()];
  return either({ min, max: min }, { min, max });
}
