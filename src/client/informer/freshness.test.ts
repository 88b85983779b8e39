import { expect, it } from 'vitest';
import type { ReflectorState } from '../reflector/reflector-state.ts';
import { freshnessOf } from './freshness.ts';

const watching: ReflectorState = {
  kind: 'watching',
  version: '5',
  isOpen: true,
  isRotating: false,
  empty: 0,
  failures: 0,
};
const opening: ReflectorState = { ...watching, isOpen: false };
const listing: ReflectorState = { kind: 'listing', by: 'stream', failures: 1 };
const watch = (state: ReflectorState, lastContact: number | undefined = 90, lastError?: object) =>
  ({ state, lastContact, lastError }) as Parameters<typeof freshnessOf>[0]['watches'][number];
const good = { isStopped: false, bug: undefined, isSynced: true, resourceVersion: '5', now: 100 };
const reset = { error: 'reset', isRefusal: false };
const forbidden = { error: 'forbidden', isRefusal: true };

it.each<[claim: string, facts: object, want: object]>([
  ['all watches are open', { watches: [watch(watching), watch(watching, 70)] }, { state: 'current', lagMs: 30 }],
  [
    'one is being opened',
    { watches: [watch(watching), watch(opening, 80, reset)] },
    { state: 'interrupted', error: 'reset' },
  ],
  [
    'one has never answered',
    { watches: [{ ...watch(listing), lastContact: undefined }], isSynced: false },
    { state: 'syncing', lagMs: undefined },
  ],
  [
    'one is refused, though it is tried again',
    { watches: [watch(opening, 80, reset), watch(listing, 90, forbidden)] },
    { state: 'refused', error: 'forbidden' },
  ],
  ['it is closed', { watches: [watch(watching)], isStopped: true }, { state: 'stopped', error: undefined }],
  [
    'a bug stopped it',
    { watches: [watch(listing, 90, reset)], isStopped: true, bug: 'bug' },
    { state: 'stopped', error: 'bug' },
  ],
])('freshness when %s', (_claim, facts, want) =>
  expect(freshnessOf({ ...good, ...facts } as Parameters<typeof freshnessOf>[0])).toMatchObject(want),
);
