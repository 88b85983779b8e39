/**
 * One user floods, others read. Nothing is measured in time, which would be that of the machine: what counts is how much
 * of the flood is at work at once, and how much of it comes before somebody who asks later.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiClient, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const OBJECTS = 800;
const FLOOD = 80;
/** Waits three seconds for a version that does not come: work that lasts. */
const SLOW = { resourceVersion: '99999999', resourceVersionMatch: 'NotOlderThan' };
/** Of the level global-default with 600 seats in all; a list of so much takes eight of them. */
const LISTS_AT_ONCE = 7;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ authorizationMode: 'AlwaysAllow' });
  const data = { text: 'x'.repeat(1500) };
  for (let i = 0; i < OBJECTS; i += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, j) =>
        server.client.create(CONFIG_MAPS, { metadata: { name: `c-${i + j}` }, data }),
      ),
    );
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

const as = (user: string) => ({ 'Impersonate-User': user });

async function levelRow(client: ApiClient): Promise<{ waiting: number; executing: number }> {
  const { body } = await client.ask('GET', '/debug/api_priority_and_fairness/dump_priority_levels');
  const row = /^global-default,.*$/m.exec(body.toString())![0].split(/, */);
  return { waiting: Number(row[4]), executing: Number(row[5]) };
}

it('of the lists of one user seven are at work, the others wait; whoever else asks comes before them', async () => {
  const loud = server.connect({ protocol: 'http2' });
  const enough = new AbortController();
  let answered = 0;
  const flood = Array.from({ length: FLOOD }, () =>
    loud
      .ask('GET', CONFIG_MAPS, { headers: as('loud'), query: SLOW, signal: enough.signal })
      .then(() => answered++)
      .catch(() => {}),
  );
  await until(({ waiting, executing }) => waiting + executing === FLOOD);
  expect(await levelRow(server.client)).toEqual({ waiting: FLOOD - LISTS_AT_ONCE, executing: LISTS_AT_ONCE });
  // The administrator waits for nobody, somebody like the loud one only for the first seat that is free again.
  expect((await server.client.ask('GET', `${CONFIG_MAPS}/c-1`)).status).toBe(200);
  expect(answered).toBe(0);
  const quiet = await server.client.ask('GET', `${CONFIG_MAPS}/c-1`, { headers: as('quiet') });
  expect(quiet.status).toBe(200);
  expect(answered).toBeLessThanOrEqual(LISTS_AT_ONCE);
  expect((await levelRow(server.client)).waiting).toBeGreaterThanOrEqual(FLOOD - 2 * LISTS_AT_ONCE);
  enough.abort();
  await Promise.all(flood);
  await until(({ waiting, executing }) => waiting + executing === 0);
}, 30_000);

async function until(isTrue: (row: { waiting: number; executing: number }) => boolean): Promise<void> {
  while (!isTrue(await levelRow(server.client)));
}
