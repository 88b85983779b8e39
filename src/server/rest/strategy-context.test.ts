import { expect, it, vi } from 'vitest';
import { type Surroundings, WriteContext } from './strategy-context.ts';

/** Nodes in a cache that is in this state, of which the store has one more than the cache. */
function contextOver(stats: object | 'filling' | 'uncounted') {
  const cached = { name: 'old' };
  const toObject = (stored: object) => ({ metadata: stored });
  const objects = { stats, peek: (_: string, name: string) => (name === 'old' ? cached : undefined) };
  const read = vi.fn(async (_: string, name: string) => (name === 'gone' ? undefined : { name }));
  const storages = { storageOf: () => ({ objects, read, toObject }) };
  const around = { storages, parsed: new WeakMap() } as unknown as Surroundings;
  const context = new WriteContext(around, { signal: new AbortController().signal, warn: () => {} }, '', '', false);
  return { context, read };
}

it('an object that the cache has is known and remembered without asking the store', () => {
  const { context, read } = contextOver({ count: 1 });
  const old = { metadata: { name: 'old' } };
  expect(context.known('', 'nodes', '', 'old')).toEqual(old);
  expect(context.remembered('', 'nodes', '', 'old')).toEqual(old);
  expect(read).not.toHaveBeenCalled();
});

it('one that the cache has not is asked of the store to be known, and not there to be remembered', async () => {
  const { context, read } = contextOver({ count: 1 });
  expect(context.remembered('', 'nodes', '', 'new')).toBeUndefined();
  expect(read).not.toHaveBeenCalled();
  expect(await context.known('', 'nodes', '', 'new')).toEqual({ metadata: { name: 'new' } });
});

it.each(['filling', 'uncounted'] as const)(
  'what is remembered is asked of the store where the cache is %s',
  async (stats) => {
    const { context } = contextOver(stats);
    expect(await context.remembered('', 'nodes', '', 'new')).toEqual({ metadata: { name: 'new' } });
    expect(await context.remembered('', 'nodes', '', 'gone')).toBeUndefined();
  },
);
