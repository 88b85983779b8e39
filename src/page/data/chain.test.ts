import { expect, it } from 'vitest';
import { chainOf, placeOf, worstOf } from './chain.ts';
import type { Watch, WatchCache } from './inside.ts';

const windowTo = (toRevision: number) => ({ fromRevision: 0, toRevision, events: 1, capacity: 100 });
const cache = (name: string, revision: number, watchers: number): WatchCache => ({
  metadata: { name },
  spec: { group: '', resource: name },
  status: {
    ...{ objects: 1, revision, window: windowTo(revision), eventsPerSecond: 0 },
    ...{ eventsReceived: 0, eventsDispatched: 0, watchers, watchersBehind: 0, expired: 0, memoryBytes: 0 },
  },
});
const watch = (name: string, resource: string, userAgent: string, state: string): Watch => ({
  metadata: { name },
  spec: { group: '', resource, user: 'alice', userAgent, address: '127.0.0.1' },
  status: {
    ...{ state, lastRevision: 5, behind: { revisions: 0, bytes: 0, seconds: 0 } },
    ...{ eventsSent: 0, bytesSent: 0, bookmarksSent: 0 },
  },
});

it('a client that watches several kinds is one client, in its worst state', () => {
  const chain = chainOf({
    caches: [cache('pods', 10, 2), cache('nodes', 12, 1), ...['a', 'b', 'c'].map((name) => cache(name, 1, 0))],
    watches: [
      watch('pods-1', 'pods', 'kubectl/v1 (linux)', 'Live'),
      watch('nodes-2', 'nodes', 'kubectl/v1 (linux)', 'Behind'),
      watch('pods-3', 'pods', 'operator', 'Live'),
    ],
  });
  expect(chain.head).toBe(12);
  expect(chain.caches.map(({ metadata }) => metadata.name)).toEqual(['pods', 'nodes', 'a']);
  expect(chain.hiddenCaches).toBe(2);
  expect(chain.clients.map(({ agent, worst, watches }) => [agent, worst, watches.length])).toEqual([
    ['kubectl', 'Behind', 2],
    ['operator', 'Live', 1],
  ]);
  expect(chain.edges.map(({ cache: of, state }) => [of, state])).toEqual([
    ['pods', 'Live'],
    ['nodes', 'Behind'],
    ['pods', 'Live'],
  ]);
});

it('the band goes from the oldest revision to the head', () => {
  expect([placeOf(100, 0, 100), placeOf(0, 0, 100), placeOf(-5, 0, 100)]).toEqual([1, 0, 0]);
  expect(placeOf(90, 0, 1e6)).toBeLessThan(placeOf(1e6 - 10, 0, 1e6));
  expect(placeOf(0, 0, 0)).toBe(1);
});

it('the worst of no states is Live', () =>
  expect([worstOf([]), worstOf(['Live', 'FromLog'])]).toEqual(['Live', 'FromLog']));
