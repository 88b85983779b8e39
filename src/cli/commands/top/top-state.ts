/**
 * What the screen is showing, and what a key makes of it: one union, one pure function. What has to be done in the world
 * (end a watch, leave) comes back as an action.
 */
import { SORTS, type Sort } from '../inside/watches.ts';

export type TopState = {
  readonly sort: Sort;
  readonly filter: string;
  /** The line of the table that keys mean. */
  readonly selected: number;
  readonly mode:
    | { readonly kind: 'list' }
    | { readonly kind: 'filter'; readonly typed: string }
    | { readonly kind: 'open'; readonly name: string }
    | { readonly kind: 'ending'; readonly name: string };
  /** What happened last. */
  readonly note: string;
};

export type TopAction = { readonly kind: 'quit' } | { readonly kind: 'end'; readonly name: string };

export const FIRST_STATE: TopState = { sort: 'lag', filter: '', selected: 0, mode: { kind: 'list' }, note: '' };

const KEYS = { up: '\x1b[A', down: '\x1b[B', escape: '\x1b', enter: '\r', interrupt: '\x03', back: '\x7f' } as const;

/** `names`: of the watches as they stand in the table now. */
export function onKey(
  state: TopState,
  key: string,
  names: readonly string[],
): { readonly state: TopState; readonly action?: TopAction } {
  if (key === KEYS.interrupt) return { state, action: { kind: 'quit' } };
  const list = { ...state, note: '', mode: { kind: 'list' } as const };
  const selected = Math.max(0, Math.min(state.selected, names.length - 1));
  switch (state.mode.kind) {
    case 'filter': {
      const { typed } = state.mode;
      if (key === KEYS.escape) return { state: list };
      if (key === KEYS.enter) return { state: { ...list, filter: typed, selected: 0 } };
      const next = key === KEYS.back ? typed.slice(0, -1) : /^[\x20-\x7e]$/.test(key) ? typed + key : typed;
      return { state: { ...state, mode: { kind: 'filter', typed: next } } };
    }
    case 'ending': {
      const { name } = state.mode;
      return key === 'y'
        ? { state: list, action: { kind: 'end', name } }
        : { state: { ...list, note: 'nothing was ended' } };
    }
    case 'open':
      if (key === 'd') return { state: { ...state, mode: { kind: 'ending', name: state.mode.name } } };
      return key === 'q' ? { state, action: { kind: 'quit' } } : { state: list };
    case 'list': {
      const name = names[selected];
      if (key === 'q') return { state, action: { kind: 'quit' } };
      if (key === 's') return { state: { ...list, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length]! } };
      if (key === '/') return { state: { ...list, mode: { kind: 'filter', typed: state.filter } } };
      if (key === KEYS.up || key === 'k') return { state: { ...list, selected: Math.max(0, selected - 1) } };
      if (key === KEYS.down || key === 'j')
        return { state: { ...list, selected: Math.max(0, Math.min(names.length - 1, selected + 1)) } };
      if (key === KEYS.enter && name !== undefined) return { state: { ...list, mode: { kind: 'open', name } } };
      if (key === 'd' && name !== undefined) return { state: { ...list, mode: { kind: 'ending', name } } };
      return { state };
    }
  }
}

/** Several keys may come at once; an escape that begins a key belongs to it. */
export function keysIn(text: string): string[] {
  return text.match(/\x1b\[[A-Z]|[\s\S]/g) ?? [];
}
