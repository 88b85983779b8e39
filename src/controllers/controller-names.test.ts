import { expect, it } from 'vitest';
import { chooseControllers, DEFAULT_CONTROLLERS, KNOWN_CONTROLLERS } from './controller-names.ts';

const GC = 'garbage-collector-controller';
const without = (names: readonly string[], name: string) => names.filter((one) => one !== name);

it.each<[claim: string, list: string[] | undefined, want: readonly string[]]>([
  ['nothing said: what a bare server needs', undefined, DEFAULT_CONTROLLERS],
  ['an empty list, too', [], DEFAULT_CONTROLLERS],
  ['everything', ['*'], KNOWN_CONTROLLERS],
  ['everything but one', ['*', `-${GC}`], without(KNOWN_CONTROLLERS, GC)],
  ['the default but one', [`-${GC}`], without(DEFAULT_CONTROLLERS, GC)],
  ['one alone', [GC], [GC]],
  ['none', ['-*'], []],
  ['one alone, said at length', ['-*', GC], [GC]],
  ['taken away wins, in any order', [`-${GC}`, GC], []],
])('%s', (_claim, list, want) => expect(chooseControllers(list)).toEqual(want));

it.each([['nodes'], ['-nodes'], ['*', 'constructor'], ['-']])('%j is refused by a name that is not known', (...list) =>
  expect(() => chooseControllers(list)).toThrow('is not in the list of known controllers'),
);
