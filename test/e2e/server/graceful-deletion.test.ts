/** A Pod that is being deleted: what another deletion of it changes. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { holdingClock, liveBy } from '../../../src/api/clock.ts';
import type { KubeObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

const PODS = '/api/v1/namespaces/default/pods';
const GRACE_SECONDS = 30;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function deleted(name: string, options: object): Promise<KubeObject> {
  const body = JSON.stringify(options);
  const headers = { 'content-type': 'application/json' };
  const answer = await server.client.ask('DELETE', `${PODS}/${name}`, { headers, body });
  expect(answer.status).toBe(200);
  return JSON.parse(answer.body.toString());
}

async function terminating(name: string, propagationPolicy: string): Promise<KubeObject> {
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
  await server.client.create(PODS, { metadata: { name }, spec });
  return deleted(name, { gracePeriodSeconds: GRACE_SECONDS, propagationPolicy });
}

const secondsBetween = (a: KubeObject, b: KubeObject) =>
  (Date.parse(b.metadata.deletionTimestamp!) - Date.parse(a.metadata.deletionTimestamp!)) / 1000;

it.each([{ propagationPolicy: 'Orphan' }, { gracePeriodSeconds: 31, propagationPolicy: 'Background' }, {}])(
  'goes on as it was decided when it is deleted again with %j',
  async (options) => {
    const name = `again-${Object.keys(options).length}`;
    const first = await terminating(name, 'Foreground');
    expect(first.metadata.finalizers).toEqual(['foregroundDeletion']);
    await server.client.ask('PATCH', `${PODS}/${name}/status`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"status":{"phase":"Succeeded"}}',
    });
    const before = await server.client.get(`${PODS}/${name}`);
    expect(await deleted(name, options)).toEqual(before);
    expect(await server.client.get(`${PODS}/${name}`)).toEqual(before);
  },
);

it('has less time from its first deletion on, and other finalizers, when it is deleted with less', async () => {
  const first = await terminating('less', 'Foreground');
  const second = await deleted('less', { gracePeriodSeconds: 20, propagationPolicy: 'Orphan' });
  expect(second.metadata).toMatchObject({ deletionGracePeriodSeconds: 20, finalizers: ['orphan'] });
  expect(secondsBetween(first, second)).toBe(20 - GRACE_SECONDS);
  expect(second.metadata.generation).toBe(first.metadata.generation);
});

it('has a second where the time it is left with is over', async () => {
  const first = await terminating('over', 'Foreground');
  const stop = liveBy({
    now: () => holdingClock.now(),
    sleep: (ms, signal) => holdingClock.sleep(ms, signal),
    wallNow: () => Date.now() + 25_000,
  });
  try {
    const second = await deleted('over', { gracePeriodSeconds: 5 });
    expect(second.metadata.deletionGracePeriodSeconds).toBe(1);
    expect(secondsBetween(first, second)).toBeGreaterThanOrEqual(25 - GRACE_SECONDS);
    expect((await deleted('over', { gracePeriodSeconds: 0 })).metadata.deletionGracePeriodSeconds).toBe(0);
  } finally {
    stop();
  }
});
