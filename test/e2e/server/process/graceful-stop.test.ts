/** A whole server that is told to stop: not ready at once, and of use to everybody for as long as it was told to be. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../../../src/testing/clocks/fake-clock.ts';
import { startTestServer } from '../../../../src/testing/index.ts';

it('with a delay /readyz fails at once while everything else is served; then it stops', async () => {
  const shutdownClock = new FakeClock();
  await using server = await startTestServer({ shutdownDelayMs: 60_000, shutdownClock });
  const { client } = server;
  const fresh = server.connect(); // connects when it is asked first
  expect((await client.ask('GET', '/readyz')).status).toBe(200);
  const stopped = server.stop();
  const ready = await client.ask('GET', '/readyz');
  expect(ready.status).toBe(500);
  expect(ready.body.toString()).toContain('[-]shutdown failed');
  expect((await client.ask('GET', '/livez')).status).toBe(200);
  const maps = '/api/v1/namespaces/default/configmaps';
  expect((await client.create(maps, { metadata: { name: 'late' } })).metadata.name).toBe('late');
  expect((await fresh.get(`${maps}/late`)).metadata.name).toBe('late');
  await shutdownClock.advance(60_000);
  await stopped;
  await expect(fresh.get(`${maps}/late`)).rejects.toThrow();
});
