/**
 * Whether a text holds a match of a pattern, in time that grows with the text and never with what is in it: patterns and
 * texts come from anybody, and the engine of JavaScript can be kept busy for ever by a few dozen characters.
 *
 * A pattern is a graph of states; the set of states that are possible after each character is worked out when it is
 * first met and kept (a lazy automaton), so that a text costs one look-up for each character once it is warm. What is
 * kept is bounded: when it grows too large it is forgotten and built again.
 */
import {
  type Assertion,
  type CharacterTest,
  isWordCode,
  PatternError,
  type PatternNode,
  readPattern,
} from './pattern-syntax.ts';

export { PatternError };

/** A node of the graph: a character to take, an assertion to hold, or a fork. */
type State = { test?: CharacterTest; what?: Assertion; next: number[] };

/** What lies behind: enough to judge every assertion. */
type Before = 'begin' | 'word' | 'line' | 'other';

type Situation = {
  readonly states: readonly number[];
  readonly before: Before;
  /** What follows each of the first characters, as far as it is known. */
  readonly ascii: (Situation | true | undefined)[];
  isMatchAtEnd: boolean | undefined;
};

const LIMIT_STATES = 20_000;
const LIMIT_SITUATIONS = 2000;
const LIMIT_CHARACTERS = 10_000;
const END = -1;
const MATCH = 0;

const compiled = new Map<string, WeakRef<Automaton>>();

/** The same pattern is compiled once, however many schemas use it. */
export function compilePattern(pattern: string): (text: string) => boolean {
  if (pattern.length > LIMIT_CHARACTERS) throw new PatternError('error parsing regexp: expression is too long');
  let automaton = compiled.get(pattern)?.deref();
  if (!automaton) {
    automaton = new Automaton(readPattern(pattern));
    if (compiled.size >= LIMIT_SITUATIONS) compiled.clear();
    compiled.set(pattern, new WeakRef(automaton));
  }
  const found = automaton;
  return (text) => found.matches(text);
}

class Automaton {
  readonly #states: State[] = [{ next: [] }];
  readonly #start: number;
  #situations = new Map<string, Situation>();
  #first: Situation;

  constructor(root: PatternNode) {
    this.#start = this.#build(root, MATCH);
    this.#first = this.#situation([], 'begin');
  }

  matches(text: string): boolean {
    let now = this.#first;
    for (let i = 0; i < text.length; i++) {
      let code = text.charCodeAt(i);
      if (code >= 0xd800 && code < 0xdc00) code = text.codePointAt(i++)!;
      const next = code < 128 ? (now.ascii[code] ?? this.#learn(now, code)) : this.#step(now, code);
      if (next === true) return true;
      now = next;
    }
    now.isMatchAtEnd ??= this.#step(now, END) === true;
    return now.isMatchAtEnd;
  }

  #learn(from: Situation, code: number): Situation | true {
    const next = this.#step(from, code);
    from.ascii[code] = next;
    return next;
  }

  /** True: a match ends here. A new one may begin before every character. */
  #step(from: Situation, code: number): Situation | true {
    const reached = new Set<number>();
    const open = [...from.states, this.#start];
    const targets = new Set<number>();
    while (open.length > 0) {
      const id = open.pop()!;
      if (id === MATCH) return true;
      if (reached.has(id)) continue;
      reached.add(id);
      const { test, what, next } = this.#states[id]!;
      if (test) {
        if (code !== END && test(code)) for (const target of next) targets.add(target);
      } else if (what === undefined || holds(what, from.before, code)) open.push(...next);
    }
    const before = code === 10 ? 'line' : code !== END && isWordCode(code) ? 'word' : 'other';
    return this.#situation(
      [...targets].sort((a, b) => a - b),
      before,
    );
  }

  #situation(states: readonly number[], before: Before): Situation {
    const id = `${before} ${states.join(' ')}`;
    let known = this.#situations.get(id);
    if (!known) {
      if (this.#situations.size >= LIMIT_SITUATIONS) {
        this.#situations = new Map();
        this.#first = newSituation([], 'begin');
      }
      known = newSituation(states, before);
      this.#situations.set(id, known);
    }
    return known;
  }

  /** Builds a node in front of `next` and answers where it begins. */
  #build(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'character':
        return this.#add({ test: node.test, next: [next] });
      case 'assert':
        return this.#add({ what: node.what, next: [next] });
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next);
      case 'choice':
        return this.#add({ next: node.parts.map((part) => this.#build(part, next)) });
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #repeat({ part, least, most }: Extract<PatternNode, { kind: 'repeat' }>, next: number): number {
    let start = next;
    if (most === Infinity) {
      const fork: State = { next: [next] };
      start = this.#add(fork);
      fork.next.unshift(this.#build(part, start));
    } else for (let i = least; i < most; i++) start = this.#add({ next: [this.#build(part, start), next] });
    for (let i = 0; i < least; i++) start = this.#build(part, start);
    return start;
  }

  #add(state: State): number {
    if (this.#states.length >= LIMIT_STATES) throw new PatternError('error parsing regexp: expression is too large');
    return this.#states.push(state) - 1;
  }
}

/** All alike in memory, with room for every character: that is what makes the look-up fast. */
function newSituation(states: readonly number[], before: Before): Situation {
  return { states, before, ascii: new Array<undefined>(128).fill(undefined), isMatchAtEnd: undefined };
}

function holds(what: Assertion, before: Before, code: number): boolean {
  switch (what) {
    case 'textStart':
      return before === 'begin';
    case 'textEnd':
      return code === END;
    case 'lineStart':
      return before === 'begin' || before === 'line';
    case 'lineEnd':
      return code === END || code === 10;
    default: {
      const isEdge = (before === 'word') !== (code !== END && isWordCode(code));
      return (what === 'wordEdge') === isEdge;
    }
  }
}
