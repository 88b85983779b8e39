/** What the metrics tell of lists: what was asked, and how many objects that took. */
import { expect, it } from 'vitest';
import { eventually, startTestServer } from '../../../src/testing/index.ts';

it('lists from the cache are counted by index, and those of the store apart', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const path = '/api/v1/namespaces/lists/pods';
  await client.create('/api/v1/namespaces', { metadata: { name: 'lists' } });
  for (const nodeName of ['n0', ...Array<string>(11).fill('n1')])
    await client.create(path, {
      metadata: { generateName: 'a-', labels: { app: 'x' } },
      spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
    });
  const counts = async () => {
    const { body } = await client.ask('GET', '/metrics');
    const lines = body.toString().split('\n');
    return (name: string, index?: string) => {
      const labels = `group="",resource="pods"${index === undefined ? '' : `,index="${index}"`}`;
      return Number(
        lines
          .find((line) => line.startsWith(`${name}{${labels}} `))
          ?.split(' ')
          .at(-1) ?? 0,
      );
    };
  };
  await eventually(async () => {
    await client.list(path, { fieldSelector: 'spec.nodeName=n0' }); // who first asks has the index made
    expect((await counts())('apiserver_cache_list_total', 'f:spec.nodeName')).toBe(1);
  });
  const before = await counts();
  await client.list(path);
  await client.list(path, { fieldSelector: 'spec.nodeName=n0' });
  await client.list(path, { labelSelector: 'app=x' });
  const after = await counts();
  const more = (name: string, index?: string) => after(name, index) - before(name, index);
  expect(more('apiserver_cache_list_fetched_objects_total', 'f:spec.nodeName')).toBe(1);
  expect(more('apiserver_cache_list_total', 'f:spec.nodeName')).toBe(1);
  expect(more('apiserver_cache_list_total', '')).toBe(2); // all have the label
  expect(more('apiserver_cache_list_fetched_objects_total', '')).toBe(24);
  expect(more('apiserver_storage_list_total')).toBe(0);
});
