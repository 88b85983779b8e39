/**
 * Whether a text holds a match of a pattern, and where: patterns and texts come from anybody, and the engine of
 * JavaScript can be kept busy for ever by a few dozen characters.
 *
 * Every answer takes at most (characters of the text) times (states of the program) steps, whatever the alphabet, and
 * the meter is charged for what is really done: one step for four characters whose outcome is known, one for each state
 * looked at where it is not. What is possible after each character is kept when it is first worked out (a lazy
 * automaton); where that does not help, the states are followed without keeping anything. All patterns together keep no
 * more than `LIMIT_KEPT`; then everything is forgotten, and made again when it is asked for.
 */
import { ASSERT, type Before, beforeOf, END, MATCH, PatternProgram, TAKE } from './pattern-program.ts';
import { searchPattern, type TextRange } from './pattern-search.ts';
import { PatternError, readPattern } from './pattern-syntax.ts';
import { nextMark, reached, stateList } from './state-marks.ts';
import { noMeter, type StepMeter } from './step-meter.ts';

type Situation = {
  readonly states: Uint16Array;
  readonly before: Before;
  /** What follows each letter of the alphabet, as far as it is known. */
  readonly after: (Situation | true | undefined)[];
  isMatchAtEnd: boolean | undefined;
};

/** Numbers that all patterns may keep: some 32 MB. */
const LIMIT_KEPT = 4_000_000;
const PROGRAM_OVERHEAD = 300;
/** What it costs to make a program. */
const BUILD_STEPS = 1500;
const BUILD_STEPS_PER_STATE = 5;
/** Known characters are charged by the stretch; each takes a quarter of the time of a step. */
const STRETCH = 1024;
const KNOWN_PER_STEP = 4;
/** So many new situations, one for every second character or more: keeping them does not pay. */
const LIMIT_NEWS = 200;

const compiled = new Map<string, Pattern>();
let kept = 0;

/** Throws a PatternError where `compilePattern` would, without making anything. */
export function checkPatternSyntax(pattern: string): void {
  if (!compiled.has(pattern)) readPattern(pattern);
}

/** The same pattern is compiled once, while it is kept: whoever holds on to it keeps it for longer than it may. */
export function compilePattern(pattern: string, meter: StepMeter = noMeter): Pattern {
  let found = compiled.get(pattern);
  if (!found) {
    const tree = readPattern(pattern);
    meter.chargeSteps(BUILD_STEPS + BUILD_STEPS_PER_STATE * tree.states);
    found = new Pattern(new PatternProgram(tree));
    keep(found.weight);
    compiled.set(pattern, found);
  }
  return found;
}

export class Pattern {
  readonly #program: PatternProgram;
  #situations = new Map<string, Situation>();
  #first: Situation | undefined;

  constructor(program: PatternProgram) {
    this.#program = program;
  }

  get weight(): number {
    return this.#program.size + this.#program.letters + PROGRAM_OVERHEAD;
  }

  matches(text: string, meter: StepMeter = noMeter): boolean {
    const program = this.#program;
    this.#first ??= this.#situation(0, 'begin', meter);
    let now = this.#first;
    let news = 0;
    for (let i = 0; i < text.length; i++) {
      if (i % STRETCH === 0) meter.chargeSteps(Math.min(STRETCH, text.length - i) / KNOWN_PER_STEP);
      let code = text.charCodeAt(i);
      if (code >= 0xd800 && code < 0xdc00) code = text.codePointAt(i)!;
      const letter = program.letterOf(code);
      let next = now.after[letter];
      if (next === undefined) {
        if (++news > LIMIT_NEWS && 2 * news > i) return this.#simulate(now, text, i, meter);
        next = this.#follow(now, code, meter);
        now.after[letter] = next;
      }
      if (next === true) return true;
      now = next;
      if (code > 0xffff) i++;
    }
    now.isMatchAtEnd ??= this.#follow(now, END, meter) === true;
    return now.isMatchAtEnd;
  }

  /** The first match at or after `from`, as long as the pattern prefers it. */
  find(text: string, from: number, meter: StepMeter = noMeter): TextRange | undefined {
    return searchPattern(this.#program, text, from, meter);
  }

  forget(): void {
    this.#situations = new Map();
    this.#first = undefined;
  }

  /** True: a match ends here. */
  #follow(from: Situation, code: number, meter: StepMeter): Situation | true {
    const count = this.#reach(from.states, from.states.length, from.before, code, meter);
    return count < 0 ? true : this.#situation(count, beforeOf(code), meter);
  }

  /** The rest of a text from `at` on, step by step. */
  #simulate({ states, before: first }: Situation, text: string, from: number, meter: StepMeter): boolean {
    const list = new Uint16Array(this.#program.size);
    list.set(states);
    let count = states.length;
    let before = first;
    for (let at = from; at < text.length; ) {
      const code = text.codePointAt(at)!;
      count = this.#reach(list, count, before, code, meter);
      if (count < 0) return true;
      list.set(stateList.subarray(0, count));
      before = beforeOf(code);
      at += code > 0xffff ? 2 : 1;
    }
    return this.#reach(list, count, before, END, meter) < 0;
  }

  /**
   * The states after one more character, into `stateList`; how many they are, or -1 if a match ends before it. A new
   * match may begin before every character.
   */
  #reach(states: Uint16Array, count: number, before: Before, code: number, meter: StepMeter): number {
    const program = this.#program;
    const { kinds, next, also } = program;
    const [mark, open] = [nextMark(), openStates];
    let [found, depth, steps] = [0, 0, 0];
    for (let i = -1; i < count; i++) {
      open[depth++] = i < 0 ? program.start : states[i]!;
      while (depth > 0) {
        const id = open[--depth]!;
        if (reached[id] === mark) continue;
        if (id === MATCH) return -1;
        reached[id] = mark;
        steps++;
        if (kinds[id] === TAKE) {
          if (code !== END && program.takes(id, code)) stateList[found++] = next[id]!;
        } else if (kinds[id] === ASSERT) {
          if (program.holds(id, before, code)) open[depth++] = next[id]!;
        } else {
          open[depth++] = also[id]!;
          open[depth++] = next[id]!;
        }
      }
    }
    meter.chargeSteps(steps);
    return onlyOnce(found);
  }

  #situation(count: number, before: Before, meter: StepMeter): Situation {
    const states = stateList.slice(0, count).sort();
    const id = `${before} ${textOf(states)}`;
    let known = this.#situations.get(id);
    if (!known) {
      const { letters } = this.#program;
      meter.chargeSteps(states.length + (letters >> 3));
      keep(2 * states.length + letters + 16);
      known = { states, before, after: new Array<undefined>(letters).fill(undefined), isMatchAtEnd: undefined };
      this.#situations.set(id, known);
    }
    return known;
  }
}

/** Each state is opened at most once more than there are ways to it: two for every state. */
const openStates = new Uint16Array(2 * stateList.length + 2);

/** Leaves each state of `stateList` in it once. */
function onlyOnce(count: number): number {
  const mark = nextMark();
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const id = stateList[i]!;
    if (reached[id] === mark) continue;
    reached[id] = mark;
    stateList[kept++] = id;
  }
  return kept;
}

function keep(weight: number): void {
  kept += weight;
  if (kept <= LIMIT_KEPT) return;
  for (const pattern of compiled.values()) pattern.forget();
  compiled.clear();
  kept = weight;
}

/** States are below 2^16: each is a character of the name of their set. */
function textOf(states: Uint16Array): string {
  let text = '';
  for (let i = 0; i < states.length; i += 8192) text += String.fromCharCode(...states.subarray(i, i + 8192));
  return text;
}

export { PatternError };
