/** What the compiler promises; nothing here runs against a server. */
import { expect, expectTypeOf, it } from 'vitest';
import type { KubeClient } from '../kube-client.ts';
import { type Pod, pods } from '../objects/generated/core-v1.ts';
import { Informer } from './informer.ts';
import { InformerFactory } from './informer-factory.ts';

/** Never called. */
async function uses(client: KubeClient) {
  const informer = new Informer(client, pods, { indexers: { byNode: (pod) => [pod.spec.nodeName] } });
  expectTypeOf(informer.by('byNode', 'n1')).toEqualTypeOf<Pod[]>();
  // @ts-expect-error there is no such index
  informer.by('byNodes', 'n1');
  // @ts-expect-error an index has text values
  new Informer(client, pods, { indexers: { byPort: () => [80] } });
  const { informer: shared } = new InformerFactory(client).acquire(pods, {
    indexers: { byNode: (pod) => [pod.spec.nodeName] },
  });
  expectTypeOf(shared.by('byNode', 'n1')).toEqualTypeOf<Pod[]>();
  // @ts-expect-error there is no such index
  shared.by('byNodes', 'n1');
  const more = informer.addIndexers({ byPhase: (pod) => [pod.status?.phase] });
  expectTypeOf(more.by('byPhase', 'Running')).toEqualTypeOf<Pod[]>();
  expectTypeOf(more.by('byNode', 'n1')).toEqualTypeOf<Pod[]>();
  // @ts-expect-error the type of the first does not know it
  informer.by('byPhase', 'Running');
  // @ts-expect-error there is no such index
  more.by('byPhases', 'Running');
  for await (const event of informer.events()) {
    expectTypeOf(event.object).toEqualTypeOf<Pod>();
    if (event.type === 'updated') expectTypeOf(event.old).toEqualTypeOf<Pod>();
    // @ts-expect-error only an update has an old state
    if (event.type === 'added') event.old;
  }
  informer.subscribe(({ object }) => expectTypeOf(object).toEqualTypeOf<Pod>());
}

it('indexes and events are typed by the resource', () => expect(uses).toBeTypeOf('function'));
