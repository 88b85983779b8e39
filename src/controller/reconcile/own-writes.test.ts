import { expect, it } from 'vitest';
import { type AnyObject, corev1, type Informer } from '../../client/index.ts';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { type Holding, OwnWrites } from './own-writes.ts';

type State = { version: string; state: string; objects: Map<string, corev1.ConfigMap> };

function map(
  name: string,
  resourceVersion: string,
  more: Partial<corev1.ConfigMap['metadata']> = {},
): corev1.ConfigMap {
  const metadata = { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion, creationTimestamp: '', ...more };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata };
}

/** An informer as far as it is looked at here, with a state that the test moves. */
function grounds(selection: Holding['selection'] = { allNamespaces: true }, limit = 100) {
  const cache: State = { version: '10', state: 'current', objects: new Map() };
  const informer = {
    resource: corev1.configMaps,
    get: (key: string) => cache.objects.get(key),
    get resourceVersion() {
      return cache.version;
    },
    get freshness() {
      return { state: cache.state };
    },
    reached: () => new Promise<void>(() => {}),
  } as unknown as Informer<AnyObject>;
  const clock = new FakeClock();
  const writes = new OwnWrites([{ informer, selection }], { timeoutMs: 5000, clock, limit });
  return { cache, clock, writes };
}

/** What comes of waiting, now or within so many milliseconds. */
async function outcome(writes: OwnWrites, clock: FakeClock, ms: number, key = 'k'): Promise<string> {
  let what = 'waits';
  const stop = new AbortController();
  const waiting = writes.seen(key, stop.signal).then(
    () => {
      what = 'seen';
    },
    (err: Error) => {
      what = err.name;
    },
  );
  await clock.advance(ms);
  const now = what;
  stop.abort(new Error('over'));
  await waiting;
  return now;
}

it.each<[claim: string, version: string, held: corev1.ConfigMap | undefined, want: string]>([
  ['an older object is waited for', '9', map('a', '9'), 'waits'],
  ['an object that is not there yet is waited for', '9', undefined, 'waits'],
  ['the object itself has been seen', '9', map('a', '12'), 'seen'],
  ['a later one has been seen', '9', map('a', '100'), 'seen'],
  ['the same name with an old version of another life has not', '9', map('a', '11', { uid: 'other' }), 'waits'],
  ['an informer that has come so far holds what there is', '12', undefined, 'seen'],
  ['an informer that has come further, too', '1000', undefined, 'seen'],
])('%s', async (_claim, version, held, want) => {
  const { cache, clock, writes } = grounds();
  cache.version = '9';
  writes.wrote('k', corev1.configMaps, map('a', '12'));
  cache.version = version;
  if (held) cache.objects.set('ns/a', held);
  expect(await outcome(writes, clock, 0)).toBe(want);
  expect(await outcome(writes, clock, 0, 'another key')).toBe('seen');
});

it.each<[claim: string, held: corev1.ConfigMap | undefined, want: string]>([
  ['what is still there', map('a', '9'), 'waits'],
  ['what is on its way out', map('a', '11', { deletionTimestamp: 'now' }), 'seen'],
  ['what is gone', undefined, 'seen'],
  ['another of its name', map('a', '14', { uid: 'other' }), 'seen'],
])('a deletion: %s', async (_claim, held, want) => {
  const { cache, clock, writes } = grounds();
  cache.objects.set('ns/a', map('a', '9'));
  writes.deleted('k', corev1.configMaps, 'ns/a', 'uid-a');
  if (held) cache.objects.set('ns/a', held);
  else cache.objects.delete('ns/a');
  expect(await outcome(writes, clock, 0)).toBe(want);
});

it.each<[claim: string, selection: Holding['selection'], want: string]>([
  ['all namespaces hold it', { allNamespaces: true }, 'waits'],
  ['its namespace among several holds it', { namespace: ['x', 'ns'] }, 'waits'],
  ['other namespaces do not', { namespace: 'x' }, 'seen'],
  ['a label selector that it fits holds it', { labelSelector: { app: 'web' } }, 'waits'],
  ['one that it does not fit does not', { labelSelector: 'app=db' }, 'seen'],
])('%s', async (_claim, selection, want) => {
  const { clock, writes } = grounds(selection);
  writes.wrote('k', corev1.configMaps, map('a', '12', { labels: { app: 'web' } }));
  expect(await outcome(writes, clock, 0)).toBe(want);
});

it('what must come is asked for again until it comes, or the server must have been set back', async () => {
  const { cache, clock, writes } = grounds();
  writes.wrote('k', corev1.configMaps, map('a', '12'));
  expect(await outcome(writes, clock, 4999)).toBe('waits');
  expect(await outcome(writes, clock, 5000)).toBe('StaleCacheError');
  await clock.advance(70_000);
  expect(await outcome(writes, clock, 5000)).toBe('StaleCacheError');
  await clock.advance(5_000);
  cache.state = 'interrupted';
  expect(await outcome(writes, clock, 5000)).toBe('StaleCacheError');
  cache.state = 'current';
  expect(await outcome(writes, clock, 5000)).toBe('seen');
  expect(writes.forgotten).toBe(1);
  expect(await outcome(writes, clock, 0)).toBe('seen');
});

it('what only the server knows of is waited for once', async () => {
  const { clock, writes } = grounds({ fieldSelector: 'metadata=b' });
  writes.wrote('k', corev1.configMaps, map('a', '12'));
  expect(await outcome(writes, clock, 4999)).toBe('waits');
  expect(await outcome(writes, clock, 5000)).toBe('seen');
  expect(writes.forgotten).toBe(1);
});

it.each([
  ['metadata.name=b', 'seen'],
  ['metadata.name!=a', 'seen'],
  ['metadata.name=a', 'waits'],
  ['data.lit=', 'waits'],
  ['data.lit=false', 'waits'],
  ['data.lit=true', 'seen'],
  ['data.lit!=', 'seen'],
])('an object written under the field selector %s is %s', async (fieldSelector, wanted) => {
  const { clock, writes } = grounds({ fieldSelector });
  writes.wrote('k', corev1.configMaps, map('a', '12'));
  expect(await outcome(writes, clock, 4999)).toBe(wanted);
});

it('a change of the informer is noticed at once', async () => {
  const { cache, clock, writes } = grounds();
  writes.wrote('k', corev1.configMaps, map('a', '12'));
  const waiting = writes.seen('k', new AbortController().signal);
  await clock.advance(100);
  cache.objects.set('ns/a', map('a', '12'));
  writes.notice();
  await waiting;
  expect(clock.sleeping).toBe(0);
});

it('keys that are never asked for again are forgotten, the oldest first', async () => {
  const { clock, writes } = grounds({}, 10);
  for (let i = 0; i < 11; i++) writes.wrote(`k${i}`, corev1.configMaps, map('a', '12'));
  expect(await outcome(writes, clock, 0, 'k0')).toBe('seen');
  expect(await outcome(writes, clock, 0, 'k10')).toBe('waits');
});
