/** What ResourceQuotas restrain is counted into their status, so that they hold and give back. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';
import { eventually } from '../../../support/eventually.ts';

const ROOT = '/api/v1/namespaces/default';
const map = (name: string) => ({ metadata: { name } });
const quota = { metadata: { name: 'few' }, spec: { hard: { configmaps: '2', pods: '1', 'requests.cpu': '1' } } };
const pod = (name: string) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'c', resources: { requests: { cpu: '600m' } } }] },
});

async function until(server: TestServer, used: Record<string, string>): Promise<void> {
  await eventually(async () => {
    const { status } = (await server.client.get(`${ROOT}/resourcequotas/few`)) as KubeObject;
    expect(status).toMatchObject({ used });
  });
}

it('a quota counts what was there before it, holds, and gives back what goes', async () => {
  await using server = await startTestServer({ countsQuotas: true });
  const { client } = server;
  await client.create(`${ROOT}/configmaps`, map('a'));
  await client.create(`${ROOT}/resourcequotas`, quota);
  await until(server, { configmaps: '1', pods: '0', 'requests.cpu': '0' });
  await client.create(`${ROOT}/configmaps`, map('b'));
  await expect(client.create(`${ROOT}/configmaps`, map('c'))).rejects.toThrow(
    'exceeded quota: few, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
  );
  await client.delete(`${ROOT}/configmaps/a`);
  await until(server, { configmaps: '1' });
  await client.create(`${ROOT}/configmaps`, map('c'));
});

it('a Pod that has ended, and a quota that changes, are counted anew', async () => {
  await using server = await startTestServer({ countsQuotas: true });
  const { client } = server;
  await client.create(`${ROOT}/resourcequotas`, quota);
  await until(server, { pods: '0' });
  await client.create(`${ROOT}/pods`, pod('a'));
  await until(server, { pods: '1', 'requests.cpu': '600m' });
  await expect(client.create(`${ROOT}/pods`, pod('b'))).rejects.toThrow('exceeded quota');
  await client.patch(`${ROOT}/pods/a/status`, { status: { phase: 'Succeeded' } });
  await until(server, { pods: '0', 'requests.cpu': '0' });
  await client.patch(`${ROOT}/resourcequotas/few`, { spec: { hard: { 'count/pods': '5' } } });
  await until(server, { 'count/pods': '1' });
});

it('without a controller a quota restrains nothing yet', async () => {
  await using server = await startTestServer();
  await server.client.create(`${ROOT}/resourcequotas`, quota);
  for (const name of ['a', 'b', 'c']) await server.client.create(`${ROOT}/configmaps`, map(name));
  expect((await server.client.get(`${ROOT}/resourcequotas/few`)).status).toEqual({});
});
