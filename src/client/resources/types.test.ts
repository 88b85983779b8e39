/** What the compiler promises; nothing here runs against a server. */
import { expect, expectTypeOf, it } from 'vitest';
import type { KubeClient } from '../kube-client.ts';
import { defineResource, type ObjectOf } from '../objects/define-resource.ts';
import { deployments } from '../objects/generated/apps-v1.ts';
import { type ConfigMap, configMaps, type Namespace, type Pod, pods } from '../objects/generated/core-v1.ts';
import type { Draft, ObjectList } from '../objects/objects.ts';
import type { StandardSchemaV1 } from '../objects/standard-schema.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { mergePatch } from './patches.ts';

type CronSpec = { schedule: string; retries?: number };
const crons = defineResource<CronSpec, { last?: string }>({
  group: 'ex.io',
  version: 'v1',
  plural: 'crons',
  kind: 'Cron',
  isNamespaced: true,
});

/** Never called. */
async function uses(client: KubeClient) {
  expectTypeOf(client.resource(pods).get('a')).resolves.toEqualTypeOf<Pod>();
  expectTypeOf(client.resource(pods).list()).resolves.toEqualTypeOf<ObjectList<Pod>>();
  expectTypeOf((await client.resource(pods).get('a')).metadata.name).toEqualTypeOf<string>();
  expectTypeOf((await client.resource(pods).get('a')).spec.nodeName).toEqualTypeOf<string | undefined>();
  expectTypeOf((await client.resource(pods).get('a')).spec.dnsPolicy).toEqualTypeOf<
    'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None' | undefined
  >();
  expectTypeOf((await client.resource(crons).get('a')).spec).toEqualTypeOf<CronSpec>();
  expectTypeOf((await client.resource(crons).get('a')).status?.last).toEqualTypeOf<string | undefined>();
  expectTypeOf((await client.resource(deployments).scale.get('a')).spec.replicas).toEqualTypeOf<number | undefined>();

  for await (const event of client.watch(pods)) {
    expectTypeOf(event).toEqualTypeOf<WatchEvent<Pod>>();
    if (event.type === 'BOOKMARK') expectTypeOf(event.isInitialEventsEnd).toEqualTypeOf<boolean>();
    else expectTypeOf(event.object).toEqualTypeOf<Pod>();
  }

  await client.resource(configMaps).create({ metadata: { generateName: 'a-' }, data: { a: 'b' } });
  await client.resource(configMaps).patch('a', mergePatch({ data: { a: null } }));
  await client.resource(crons).apply({ metadata: { name: 'a' }, spec: { retries: 1 } }, { fieldManager: 'me' });
  // @ts-expect-error data is text
  await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { a: 1 } });
  // @ts-expect-error a pod has no data
  await client.resource(pods).create({ metadata: { name: 'a' }, spec: { containers: [] }, data: {} });
  // @ts-expect-error schedule is missing
  await client.resource(crons).create({ metadata: { name: 'a' }, spec: {} });
  // @ts-expect-error who applies must say who it is
  await client.resource(configMaps).apply({ metadata: { name: 'a' } }, {});
  // @ts-expect-error a start is missing
  client.watchResuming(pods, {});
  client.watchResuming(pods, { sendInitialEvents: true });
}

/** Never called. */
async function typos(client: KubeClient) {
  const pod = await client.resource(pods).get('a');
  // @ts-expect-error containers, misspelt
  pod.spec.contaners;
  // @ts-expect-error phase, misspelt
  pod.status?.phaze;
  // @ts-expect-error a phase that there is not
  if (pod.status?.phase === 'Runing') return;
  // @ts-expect-error nodeName, misspelt, in what is written
  await client.resource(pods).create({ metadata: { name: 'a' }, spec: { containers: [], nodename: 'n' } });
  // @ts-expect-error a container must have a name
  await client.resource(pods).create({ metadata: { name: 'a' }, spec: { containers: [{ image: 'i' }] } });
  const deployment = await client.resource(deployments).get('a');
  // @ts-expect-error securityContext, misspelt, deep inside
  deployment.spec.template.spec?.containers[0]?.securitycontext;
  // @ts-expect-error replicas is a number
  await client.resource(deployments).patch('a', mergePatch({ spec: { replicas: '1' } }));
}

it('fields of built-in kinds are known: what is misspelt does not compile', () => {
  expect(typos).toBeTypeOf('function');
  // A spec that needs nothing need not be written; one that needs something must be.
  expectTypeOf<{ metadata: { name: string } }>().toExtend<Draft<Namespace>>();
  expectTypeOf<{ metadata: { name: string } }>().not.toExtend<Draft<Pod>>();
  expectTypeOf<Namespace['spec']>().not.toBeNullable();
});

it('tokens carry the types of their objects', () => {
  expectTypeOf<ObjectOf<typeof pods>>().toEqualTypeOf<Pod>();
  expectTypeOf<Draft<ConfigMap>['metadata']['name']>().toEqualTypeOf<string | undefined>();
  const schema = {} as StandardSchemaV1<unknown, { size: number }>;
  const sized = defineResource({
    group: 'ex.io',
    version: 'v1',
    plural: 's',
    kind: 'S',
    isNamespaced: true,
    validate: schema,
  });
  expectTypeOf<ObjectOf<typeof sized>['spec']>().toEqualTypeOf<{ size: number }>();
  expect(uses).toBeTypeOf('function');
});
