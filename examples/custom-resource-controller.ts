/**
 * A controller for a kind of one's own: people write Lamps, the controller sees to it that the world looks like that.
 *
 * A reconcile is told an object, not an event: it compares what is wanted with what is there and mends the difference, so
 * it does not matter what happened, how often, or whether the controller was running then. The finalizer makes sure that
 * what lies outside the cluster is cleaned up before a Lamp is gone.
 *
 *     npm run examples -- custom-resource-controller      against a fresh server of ours
 *     npx tsx examples/custom-resource-controller.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { type ApiObject, connect, corev1, defineResource, mergePatch, type Resource } from 'longwatch/client';
import {
  type Condition,
  type ControllerDefinition,
  defineController,
  isConditionTrue,
  Manager,
  setCondition,
  setControllerReference,
  withFinalizer,
} from 'longwatch/controller';
import { defineKind } from './stage/define-kind.ts';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

type LampSpec = { room: string; brightness: number };
type LampStatus = { conditions?: readonly Condition[] };
type Lamp = ApiObject<LampSpec, LampStatus>;

const LAMP_SCHEMA = {
  type: 'object',
  required: ['room', 'brightness'],
  properties: { room: { type: 'string' }, brightness: { type: 'integer', minimum: 0, maximum: 100 } },
};

/** Stands for what no Kubernetes object describes: the switches in the house. */
const switches = new Map<string, number>();

function lampController(lamps: Resource<Lamp>): ControllerDefinition<Lamp> {
  return defineController({
    name: 'lamp',
    for: lamps,
    owns: [corev1.configMaps], // whatever happens to one is a cause to look at its Lamp
    async reconcile(lamp, { client, key, recorder }) {
      if (!lamp) return; // gone, and cleaned up before it went
      return withFinalizer(client.resource(lamps), lamp, {
        finalizer: 'example.com/switch',
        async apply({ metadata, spec, status }) {
          switches.set(key, spec.brightness);
          const wiring = { metadata: { name: metadata.name, namespace: metadata.namespace! } };
          await client
            .resource(corev1.configMaps)
            .apply(
              { ...setControllerReference(lamp, wiring), data: { room: spec.room, brightness: `${spec.brightness}` } },
              { fieldManager: 'lamp-controller', force: true },
            );
          const known = status?.conditions;
          const message = `shines in the ${spec.room}`;
          const conditions = setCondition(known, { type: 'Ready', status: 'True', reason: 'SwitchedOn', message });
          if (conditions === known) return;
          await client.resource(lamps).status.patch(metadata.name, mergePatch({ status: { conditions } }));
          recorder.normal('SwitchedOn', message);
        },
        cleanup: () => void switches.delete(key),
      });
    },
  });
}

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'lamps');
  // A group of this run's own: definitions are cluster-wide.
  const definition = { group: `${scratch.name}.example.com`, version: 'v1', plural: 'lamps', kind: 'Lamp' };
  const lamps = defineResource<LampSpec, LampStatus>({ ...definition, isNamespaced: true });
  await using _defined = await defineKind(client, lamps, LAMP_SCHEMA, signal);

  await using manager = new Manager({ client, namespace: scratch.name });
  manager.add(lampController(lamps));
  manager.start();

  const wanted = client.resource(lamps, scratch.name);
  await using seen = client.informer(lamps, { namespace: scratch.name });
  await using wiring = client.informer(corev1.configMaps, { namespace: scratch.name });
  const key = `${scratch.name}/desk`;

  await wanted.create({ metadata: { name: 'desk' }, spec: { room: 'study', brightness: 40 } }, { signal });
  for await (const { objects } of seen.snapshots({ signal }))
    if (isConditionTrue(objects.get(key)?.status?.conditions, 'Ready')) break;
  console.log(`A Lamp was made; its switch stands at ${switches.get(key)}`);
  assert.equal(switches.get(key), 40);

  await wanted.patch('desk', mergePatch({ spec: { brightness: 90 } }), { signal });
  for await (const { objects } of wiring.snapshots({ signal })) if (objects.get(key)?.data?.brightness === '90') break;
  console.log(`It was turned up; its switch stands at ${switches.get(key)}`);
  assert.equal(switches.get(key), 90);

  const { uid } = wiring.get(key)!.metadata;
  await client.resource(corev1.configMaps, scratch.name).delete('desk', { signal });
  for await (const { objects } of wiring.snapshots({ signal }))
    if (objects.has(key) && objects.get(key)?.metadata.uid !== uid) break;
  console.log('Somebody deleted its ConfigMap; it is back');

  await wanted.delete('desk', { signal });
  for await (const { objects } of seen.snapshots({ signal })) if (objects.size === 0) break;
  console.log(`The Lamp is gone, and ${switches.size === 0 ? 'so is its switch' : 'its switch is still on'}`);
  assert.equal(switches.size, 0);
});
