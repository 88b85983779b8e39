/** Many clients of one server that lose it, or are refused by it, in the same moment. */
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { ApiError, TransportError } from '../../../src/client/errors.ts';
import type { KubeClient } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { type Fact, type ReflectorState, transition } from '../../../src/client/reflector/reflector-state.ts';
import { notBefore, retryDelay } from '../../../src/client/transport/retry-policy.ts';
import { Backoff } from '../../../src/client/watch/backoff.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { randomFrom } from '../../support/random.ts';

const HERD = 2000;
const ASKED_MS = 8000;
const refused = new ApiError(
  {
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 429, reason: 'TooManyRequests' },
    details: { retryAfterSeconds: ASKED_MS / 1000 },
  },
  'GET /',
);
const lost = new TransportError('connect', 'refused');
const watching: ReflectorState = {
  kind: 'watching',
  version: '7',
  isOpen: true,
  isRotating: false,
  empty: 0,
  failures: 0,
};
const listing: ReflectorState = { kind: 'listing', by: 'stream', failures: 0 };
const policy = { minMs: 800, maxMs: 30_000, healthyMs: 30_000, listBy: 'stream' } as const;

function afterEnd(state: ReflectorState, error: unknown, random: number): number {
  const fact: Fact = {
    kind: 'ended',
    error,
    livedMs: 5,
    events: 0,
    wasOpen: false,
    isCatchingUp: false,
    isSilent: false,
  };
  const next = transition(state, fact, { ...policy, random });
  if (next.kind !== 'waiting') throw new Error(`${next.kind} at once`);
  return next.delayMs;
}

it.each<[who: string, earliestMs: number, delay: (random: () => number) => number]>([
  [
    'a request that was refused',
    ASKED_MS,
    (r) => retryDelay({ method: 'POST', error: refused, tries: 1 }, LIMITS, r())!,
  ],
  ['a list that was refused', ASKED_MS, (r) => afterEnd(listing, refused, r())],
  ['a watch that was refused', ASKED_MS, (r) => afterEnd(watching, refused, r())],
  [
    'a resumed watch that was refused',
    ASKED_MS,
    (r) => Math.max(notBefore(ASKED_MS, r()), new Backoff({ random: r }).next()),
  ],
  ['a watch that lost its server', 0, (r) => afterEnd(watching, lost, r())],
  ['a list that lost its server', 0, (r) => afterEnd(listing, lost, r())],
])(
  '%s comes back not before it may, and spread: no tenth of the time sees more than its share',
  (_who, earliestMs, delay) => {
    const random = randomFrom(7);
    const delays = Array.from({ length: HERD }, () => delay(random));
    const [first, last] = [Math.min(...delays), Math.max(...delays)];
    expect(first).toBeGreaterThanOrEqual(earliestMs);
    expect(last - first).toBeGreaterThan(700); // milliseconds over which they come
    const tenths = new Array<number>(10).fill(0);
    for (const ms of delays) tenths[Math.min(9, Math.floor(((ms - first) / (last - first)) * 10))]!++;
    expect(Math.max(...tenths)).toBeLessThan(HERD * 0.15);
  },
);

const LIMITS = { maxTries: 10, maxWaitMs: 60_000 };

it('informers that lose their server go on where they were: none of them lists again', async () => {
  await using server = await startTestServer();
  const maps = '/api/v1/namespaces/default/configmaps';
  await server.client.create(maps, { metadata: { name: 'before' } });
  const clients: KubeClient[] = [];
  const informers: Informer<ConfigMap>[] = [];
  try {
    for (let i = 0; i < 20; i++) {
      const client = await adminOf(server);
      clients.push(client);
      const reflector = { backoff: { minMs: 20, maxMs: 200 }, useWatchList: i % 2 === 0 };
      informers.push(new Informer(client, configMaps, { allNamespaces: true, reflector }));
    }
    await Promise.all(informers.map((informer) => informer.synced()));
    for (const name of ['first', 'second']) {
      await server.restart();
      await server.client.create(maps, { metadata: { name } });
      await until(() => informers.every((informer) => informer.get(`default/${name}`) !== undefined));
    }
    expect(informers.map(({ metrics }) => metrics.lists)).toEqual(informers.map(() => 1));
  } finally {
    for (const informer of informers) await informer[Symbol.asyncDispose]();
    for (const client of clients) await client.close();
  }
}, 60_000);
