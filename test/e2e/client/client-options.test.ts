/** Options that may be undefined: callers pass on what they were given, and undefined is as good as nothing. */
import { expect, expectTypeOf, it } from 'vitest';
import { type CheckpointOptions, InformerFactory, type RequestOptions } from '../../../src/client/advanced.ts';
import {
  type CallOptions,
  type ConnectOptions,
  type HandlerOptions,
  type InformerOptions,
  mergePatch,
  type WatchOptions,
  type WatchResumingOptions,
} from '../../../src/client/index.ts';
import { deployments } from '../../../src/client/objects/generated/apps-v1.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import type { AddOptions } from '../../../src/controller/advanced.ts';
import {
  type ControllerOptions,
  defineController,
  type ElectionOptions,
  Manager,
  type ManagerOptions,
  removeCondition,
  setCondition,
} from '../../../src/controller/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

/** The keys of T that may be left out, but not be undefined. */
type Strict<T> = {
  [K in keyof T]-?: undefined extends T[K] ? (Pick<T, K> extends Required<Pick<T, K>> ? never : Lax<T, K>) : never;
}[keyof T];
type Lax<T, K extends keyof T> = { [P in K]: undefined } extends Pick<T, K> ? never : K;

it('every option may be undefined, and is then as good as not given', async () => {
  expectTypeOf<Strict<{ a?: number; b?: number | undefined; c: number }>>().toEqualTypeOf<'a'>();
  expectTypeOf<
    | Strict<CallOptions>
    | Strict<ConnectOptions>
    | Strict<RequestOptions>
    | Strict<WatchOptions>
    | Strict<WatchResumingOptions>
    | Strict<InformerOptions<never>>
    | Strict<HandlerOptions<never>>
    | Strict<CheckpointOptions>
    | Strict<ManagerOptions>
    | Strict<ElectionOptions>
    | Strict<ControllerOptions>
    | Strict<AddOptions>
  >().toEqualTypeOf<never>();
  await using server = await startTestServer();
  await using client = await adminOf(server, { rateLimit: undefined, clock: undefined, timeouts: undefined });
  const signal: AbortSignal | undefined = undefined;
  const maps = client.resource(configMaps);
  await maps.create({ metadata: { name: 'a' } }, { signal, fieldManager: undefined, dryRun: undefined });
  expect((await maps.list({ signal, labelSelector: undefined, limit: undefined })).items).not.toEqual([]);
  const told: unknown[] = [];
  const transform = () => {
    throw new Error('no');
  };
  await using informers = new InformerFactory(client, { onError: (error) => void told.push(error) });
  await using handle = informers.acquire(configMaps, { transform, onError: undefined, reflector: undefined });
  await handle.informer.synced(signal);
  expect(told).not.toEqual([]); // by the default, which nobody has replaced
  await using manager = new Manager({ client, election: undefined, namespace: undefined, onError: undefined });
  let seen = 0;
  const options = { concurrency: undefined, timeoutMs: undefined, queue: undefined, debounceMs: undefined };
  manager.add(defineController({ name: 'a', ...options, for: configMaps, reconcile: () => void seen++ }));
  manager.start();
  await until(() => seen > 0);
});

it('conditions go into a status and into a patch as they come', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const web = client.resource(deployments);
  const made = await web.create({ metadata: { name: 'web' }, spec: { selector: { matchLabels: labels }, template } });
  const wanted = { type: 'Available', status: 'True', reason: 'Fine', message: '' } as const;
  const { generation } = made.metadata;
  const conditions = setCondition(made.status?.conditions, { ...wanted, observedGeneration: generation });
  const patched = await web.status.patch('web', mergePatch({ status: { conditions } }));
  expect(patched.status?.conditions).toMatchObject([{ type: 'Available', status: 'True' }]);
  const without = removeCondition(patched.status?.conditions, 'Available');
  const updated = await web.status.update('web', { ...patched, status: { ...patched.status, conditions: without } });
  expect(updated.status?.conditions ?? []).toEqual([]);
});
