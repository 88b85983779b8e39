/**
 * A pattern as a graph of states, packed into arrays: each state takes a character of a set, asks about its place, or
 * forks into two ways, the preferred one first. State 0 is the match.
 *
 * The graph is as large as the pattern with its counts written out; the reader has limited that. Never changed once
 * made. Characters that no set tells apart are one letter of the program's alphabet.
 */
import { isWordCode } from './character-classes.ts';
import { type CharacterSet, contains } from './character-set.ts';
import type { Assertion, PatternNode } from './pattern-syntax.ts';

export const MATCH = 0;
/** The kinds of states. */
export const TAKE = 0;
const FORK = 1;
export const ASSERT = 2;
/** In the place of a character: there is none. */
export const END = -1;

/** What lies behind: enough to judge every assertion. */
export type Before = 'begin' | 'word' | 'line' | 'other';

const newLineAndWords: CharacterSet = [10, 10, 48, 57, 65, 90, 95, 95, 97, 122];
const ASSERTIONS: readonly Assertion[] = ['textStart', 'textEnd', 'lineStart', 'lineEnd', 'wordEdge', 'noWordEdge'];

export class PatternProgram {
  readonly start: number;
  readonly size: number;
  /** How many letters the alphabet has. */
  readonly letters: number;
  readonly kinds: Uint8Array;
  readonly next: Uint16Array;
  /** TAKE: which set. FORK: the second way. ASSERT: which assertion. */
  readonly also: Uint16Array;
  readonly sets: readonly CharacterSet[];
  readonly #setIds = new Map<CharacterSet, number>();
  readonly #sets: CharacterSet[] = [];
  /** Where letters begin, in order. */
  readonly #bounds: Int32Array;
  readonly #asciiLetters = new Uint16Array(128);
  #count = 1;

  constructor(root: PatternNode) {
    this.size = root.states + 1;
    this.kinds = new Uint8Array(this.size);
    this.next = new Uint16Array(this.size);
    this.also = new Uint16Array(this.size);
    this.sets = this.#sets;
    this.start = this.#build(root, MATCH);
    this.#bounds = boundsOf(this.#sets);
    this.letters = this.#bounds.length;
    for (let code = 0; code < 128; code++) this.#asciiLetters[code] = this.#find(code);
  }

  letterOf(code: number): number {
    return code < 128 ? this.#asciiLetters[code]! : this.#find(code);
  }

  takes(state: number, code: number): boolean {
    const set = this.sets[this.also[state]!]!;
    return set.length === 2 ? code >= set[0]! && code <= set[1]! : contains(set, code);
  }

  holds(state: number, before: Before, code: number): boolean {
    return holds(ASSERTIONS[this.also[state]!]!, before, code);
  }

  #find(code: number): number {
    let [low, high] = [0, this.#bounds.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.#bounds[middle]! <= code) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Builds a node in front of `next` and answers where it begins. */
  #build(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'character':
        return this.#add(TAKE, next, this.#setId(node.set));
      case 'assert':
        return this.#add(ASSERT, next, ASSERTIONS.indexOf(node.what));
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next);
      case 'choice':
        return node.parts
          .map((part) => this.#build(part, next))
          .reduceRight((others, start) => this.#add(FORK, start, others));
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #repeat({ part, least, most, isLazy }: Extract<PatternNode, { kind: 'repeat' }>, next: number): number {
    const fork = (more: number) => (isLazy ? this.#add(FORK, next, more) : this.#add(FORK, more, next));
    let start = next;
    if (most === Infinity) {
      start = fork(next);
      const loop = this.#build(part, start);
      if (isLazy) this.also[start] = loop;
      else this.next[start] = loop;
    } else for (let i = least; i < most; i++) start = fork(this.#build(part, start));
    for (let i = 0; i < least; i++) start = this.#build(part, start);
    return start;
  }

  #add(kind: number, next: number, also: number): number {
    const id = this.#count++;
    this.kinds[id] = kind;
    this.next[id] = next;
    this.also[id] = also;
    return id;
  }

  #setId(set: CharacterSet): number {
    let id = this.#setIds.get(set);
    if (id === undefined) {
      id = this.#sets.push(set) - 1;
      this.#setIds.set(set, id);
    }
    return id;
  }
}

function boundsOf(sets: readonly CharacterSet[]): Int32Array {
  const bounds = new Set<number>([0]);
  for (const set of [newLineAndWords, ...sets])
    for (let i = 0; i < set.length; i += 2) bounds.add(set[i]!).add(set[i + 1]! + 1);
  return Int32Array.from(bounds).sort();
}

export function beforeOf(code: number): Before {
  return code === 10 ? 'line' : isWordCode(code) ? 'word' : 'other';
}

/** Whether an assertion holds between what lies behind and the character `code`, or the end. */
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
