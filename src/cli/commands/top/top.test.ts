import { expect, it } from 'vitest';
import type { WatchInfo } from '../../cluster/introspection.ts';
import { paintWith, plain } from '../../terminal/paint.ts';
import { ratesOf, type TopData } from './top-data.ts';
import { frame, shownWatches } from './top-frame.ts';
import { FIRST_STATE, keysIn, onKey, type TopAction, type TopState } from './top-state.ts';

const watch = (name: string, seconds = 0, bytesSent = 0, user = 'alice'): WatchInfo => ({
  metadata: { name, creationTimestamp: '2026-01-01T10:00:00Z' },
  spec: { user, group: '', resource: 'pods' },
  status: {
    state: seconds > 0 ? 'Behind' : 'Live',
    lastRevision: 1,
    behind: { revisions: seconds, bytes: 0, seconds },
    eventsSent: 0,
    bytesSent,
    bookmarksSent: 0,
  },
});
const data = (watches: WatchInfo[], at = Date.parse('2026-01-01T10:01:00Z')): TopData => ({
  at,
  watches,
  caches: [],
  levels: [],
  revision: 10,
  expired: 0,
  rates: undefined,
});
const size = { rows: 12, columns: 200 };
const shown = (state: TopState, watches: WatchInfo[], paint = paintWith(false)) =>
  frame(data(watches), state, 'host', size, paint).join('\n');

/** All keys, one after the other. */
function typed(keys: string, names: string[]): { state: TopState; actions: TopAction[] } {
  let state = FIRST_STATE;
  const actions: TopAction[] = [];
  for (const key of keysIn(keys)) {
    const result = onKey(state, key, names);
    state = result.state;
    if (result.action) actions.push(result.action);
  }
  return { state, actions };
}

it.each<[keys: string, want: Partial<TopState>, actions?: TopAction[]]>([
  ['s', { sort: 'age' }],
  ['sssss', { sort: 'lag' }],
  ['/bob\r', { filter: 'bob', mode: { kind: 'list' } }],
  ['/bobx\x7f\r', { filter: 'bob' }],
  ['/bob\x1b', { filter: '', mode: { kind: 'list' } }],
  ['\x1b[B\x1b[B\x1b[B', { selected: 1 }],
  ['j\x1b[A\x1b[A', { selected: 0 }],
  ['j\r', { mode: { kind: 'open', name: 'b' } }],
  ['\rx', { mode: { kind: 'list' } }],
  ['dn', { mode: { kind: 'list' }, note: 'nothing was ended' }],
  ['jdy', { mode: { kind: 'list' } }, [{ kind: 'end', name: 'b' }]],
  ['\rdy', {}, [{ kind: 'end', name: 'a' }]],
  ['/q', { mode: { kind: 'filter', typed: 'q' } }],
  ['q', {}, [{ kind: 'quit' }]],
  ['/\x03', {}, [{ kind: 'quit' }]],
])('keys %j', (keys, want, actions = []) => {
  const result = typed(keys, ['a', 'b']);
  expect(result.state).toMatchObject(want);
  expect(result.actions).toEqual(actions);
});

it('no watch can be opened or ended where there is none', () => {
  expect(typed('\rd', [])).toEqual({ state: FIRST_STATE, actions: [] });
});

it('those that are furthest behind come first; a filter leaves the others out', () => {
  const watches = [watch('live'), watch('slow', 40), watch('bobs', 2, 0, 'bob')];
  expect(shownWatches(data(watches), FIRST_STATE).map(({ metadata }) => metadata.name)).toEqual([
    'slow',
    'bobs',
    'live',
  ]);
  expect(shownWatches(data(watches), { ...FIRST_STATE, filter: 'BOB' })).toHaveLength(1);
});

it('a frame never has more lines or columns than the terminal, and what is selected is in it', () => {
  const many = Array.from({ length: 50 }, (_, i) => watch(`w-${String(i).padStart(2, '0')}`));
  for (const selected of [0, 25, 49]) {
    const lines = frame(data(many), { ...FIRST_STATE, selected }, 'host', { rows: 12, columns: 40 }, paintWith(true));
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(Math.max(...lines.map((line) => plain(line).length))).toBeLessThanOrEqual(40);
    expect(plain(lines.join('\n'))).toContain(`> w-${String(selected).padStart(2, '0')}`);
  }
});

it('what clients say of themselves cannot move the cursor', () => {
  const lines = shown(FIRST_STATE, [watch('a', 0, 0, 'evil\x1b[2J\r\nuser')]).split('\n');
  expect(lines.join('')).not.toMatch(/[\x1b\r]/);
  expect(lines.some((line) => line.startsWith('user'))).toBe(false);
});

it('asks before it ends a watch', () => {
  expect(shown({ ...FIRST_STATE, mode: { kind: 'ending', name: 'a' } }, [watch('a')])).toContain('End a?');
});

it('rates are of what is in both looks, and never negative', () => {
  const before = data([watch('a', 0, 1000), watch('gone', 0, 9000)], 0);
  const now = { ...data([watch('a', 0, 3000), watch('new', 0, 500)], 2000), revision: 4 };
  expect(ratesOf(before, now)).toEqual({ revisions: 0, received: 0, dispatched: 0, bytes: 1000 });
});
