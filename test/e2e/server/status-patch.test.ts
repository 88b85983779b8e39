/** A patch that changes nothing changes nothing, also where it goes to a part of the object. */
import { expect, it } from 'vitest';
import { jsonPatch, mergePatch, type Patch } from '../../../src/client/index.ts';
import { deployments } from '../../../src/client/objects/generated/apps-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';
import { installWebsites, websites } from '../../support/client/controller-under-test.ts';

it.each<[type: string, patch: Patch]>([
  ['merge', mergePatch({ status: { copies: 1 } } as never)],
  ['JSON', jsonPatch([{ op: 'replace', path: '/status/copies', value: 1 }])],
])('a %s patch of a status to what it is leaves the rest of a custom object alone', async (_type, patch) => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  const sites = client.resource(websites);
  await sites.create({ metadata: { name: 'a' }, spec: { copies: 1, text: 'x' } });
  const before = await sites.status.patch('a', mergePatch({ status: { copies: 1 } } as never));
  expect(before).toMatchObject({ spec: { copies: 1, text: 'x' }, status: { copies: 1 } });
  expect(await sites.status.patch('a', patch as never)).toEqual(before);
  expect(await sites.patch('a', patch as never)).toEqual(before);
  expect(await sites.get('a')).toEqual(before);
});

it('a patch of a status to what it is leaves the rest of a built-in object alone', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const all = client.resource(deployments);
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await all.create({ metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } });
  const patch = mergePatch({ status: { observedGeneration: 1 } } as never);
  const before = await all.status.patch('a', patch);
  expect(before.spec.template.spec?.containers).toMatchObject([{ name: 'c' }]);
  expect(await all.status.patch('a', patch)).toEqual(before);
  expect(await all.get('a')).toEqual(before);
});

it('annotations written with the status of a Deployment are no new generation of it, by themselves they are', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const all = client.resource(deployments);
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await all.create({ metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } });
  const said = (value: string) => mergePatch({ metadata: { annotations: { said: value } } } as never);
  const { metadata } = await all.status.patch('a', said('1'));
  expect([metadata.annotations, metadata.generation]).toEqual([{ said: '1' }, 1]);
  expect((await all.patch('a', said('2'))).metadata.generation).toBe(2);
});
