import { expect, it } from 'vitest';
import { WatcherCounts } from './watcher-counts.ts';
import { type EstimateFacts, estimateWork, type ResourceSize } from './work-estimate.ts';

const facts = (verb: string, query: string, more: Partial<EstimateFacts> = {}): EstimateFacts => ({
  verb,
  query: () => new URLSearchParams(query),
  resource: 'configmaps',
  subresource: '',
  namesOne: false,
  size: { count: 301, averageBytes: 10_245 },
  watchers: () => 0,
  maxSeats: undefined,
  ...more,
});

const some: ResourceSize = { count: 301, averageBytes: 10_245 };

it.each<[string, string, string, ResourceSize | undefined, boolean, number, number]>([
  ['everything', 'list', '', some, false, 10, 8],
  ['from the cache', 'list', 'resourceVersion=0', some, false, 10, 8],
  ['a page', 'list', 'limit=20', some, false, 3, 3],
  ['a large page', 'list', 'limit=500', some, false, 10, 8],
  ['with a selector', 'list', 'labelSelector=a', some, false, 10, 8],
  ['a page with a selector', 'list', 'labelSelector=a&limit=20', some, false, 3, 3],
  ['an exact version', 'list', 'resourceVersion=7&resourceVersionMatch=Exact', some, false, 31, 8],
  ['a page of it', 'list', 'resourceVersion=7&resourceVersionMatch=Exact&limit=20', some, false, 3, 3],
  ['a page of a version', 'list', 'resourceVersion=7&limit=20', some, false, 3, 3],
  [
    'a page of an exact version with a selector',
    'list',
    'resourceVersion=7&resourceVersionMatch=Exact&limit=20&labelSelector=a',
    some,
    false,
    16,
    8,
  ],
  ['not older than', 'list', 'resourceVersion=7&resourceVersionMatch=NotOlderThan', some, false, 10, 8],
  ['the rest', 'list', 'continue=x&limit=500', some, false, 31, 8],
  ['the next page', 'list', 'continue=x&limit=20', some, false, 3, 3],
  ['one by name', 'list', 'fieldSelector=metadata.name%3Dx', some, true, 1, 1],
  ['a watch of all', 'watch', 'resourceVersion=0', some, false, 10, 8],
  ['a watch with initial events', 'watch', 'resourceVersion=7&sendInitialEvents=true', some, false, 10, 8],
  ['a watch that goes on', 'watch', 'resourceVersion=7', some, false, 1, 1],
  ['small objects', 'list', '', { count: 500, averageBytes: 108 }, false, 1, 1],
  ['objects of unknown size', 'list', '', { count: 4, averageBytes: -1 }, false, 10, 8],
  ['nothing', 'list', '', { count: 0, averageBytes: 0 }, false, 1, 1],
  ['no such type', 'list', '', undefined, false, 1, 1],
  ['a limit that is none', 'list', 'limit=abc', some, false, 37, 8],
])('seats of a list are those of kube-apiserver: %s', (_claim, verb, query, size, namesOne, low, global) => {
  const seatsOf = (maxSeats: number) => estimateWork(facts(verb, query, { size, namesOne, maxSeats })).initialSeats;
  expect([seatsOf(37), seatsOf(8)]).toEqual([low, global]);
});

it.each([
  [9, 1, 0, 0],
  [10, 1, 1, 0.005],
  [25, 1, 3, 0.005],
  [150, 1, 10, 0.0075],
])('a write that %i watch takes what it takes on kube-apiserver', (count, initialSeats, finalSeats, seconds) => {
  const estimate = estimateWork(facts('create', '', { watchers: () => count }));
  expect(estimate).toMatchObject({ initialSeats, finalSeats });
  expect(estimate.extraSeconds).toBeCloseTo(seconds);
});

it('a token for a service account takes one seat, whoever watches', () => {
  const token = facts('create', '', { resource: 'serviceaccounts', subresource: 'token', watchers: () => 100 });
  expect(estimateWork(token)).toEqual({ initialSeats: 1, finalSeats: 0, extraSeconds: 0 });
});

it.each(['get', 'deletecollection', ''])('the verb "%s" takes one seat', (verb) => {
  expect(estimateWork(facts(verb, '', { watchers: () => 100 })).initialSeats).toBe(1);
});

it('a write is heard by watches of everything, of its namespace and of its object', () => {
  const counts = new WatcherCounts();
  const place = (namespace: string, name: string) => ({ group: '', resource: 'pods', namespace, name });
  const ends = [place('', ''), place('a', ''), place('a', 'x'), place('a', 'y'), place('b', '')].map((at) =>
    counts.add(at),
  );
  expect(counts.interested(place('a', 'x'))).toBe(3);
  expect(counts.interested(place('a', ''))).toBe(2);
  expect(counts.interested(place('b', 'x'))).toBe(2);
  expect(counts.interested({ ...place('a', 'x'), resource: 'nodes' })).toBe(0);
  for (const end of ends) end.leave();
  expect(counts.interested(place('a', 'x'))).toBe(0);
});
