import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { backgroundClock, type KubeObject } from '../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../store/index.ts';
import { CreateRight } from '../auth/create-right.ts';
import { rulesIn } from '../rbac/policy-rule.ts';
import { Registry } from '../registry/registry.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { ResourceStorages } from '../storage/resource-storages.ts';
import { ClusterRoleAggregator } from './cluster-role-aggregation.ts';

let dataDir: string;
let store: Store;
let storages: ResourceStorages;
let storage: ResourceStorage<Cacher>;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-aggregation-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
  storages = new ResourceStorages({
    registry: new Registry(),
    store,
    root: '/registry',
    clock: backgroundClock,
    log: () => {},
  });
  storage = storages.followedStorageOf('rbac.authorization.k8s.io', 'clusterroles');
});
afterEach(async () => {
  await storages.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const role = (name: string, more: object): KubeObject => ({
  kind: 'ClusterRole',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name, uid: name, labels: { gathered: 'yes' } },
  ...more,
});
const gathers = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { gathered: 'yes' } }] }, rules: null };

it('a role whose rules cannot be written holds up no other', async () => {
  const told: string[] = [];
  const update = storage.update.bind(storage);
  storage.update = (current, object) =>
    current.name === 'bad' ? Promise.reject(new Error('too large')) : update(current, object);
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
  for (const one of [
    role('bad', { ...gathers, metadata: { name: 'bad', uid: 'bad' } }),
    role('good', { ...gathers, metadata: { name: 'good', uid: 'good' } }),
    role('source', { rules }),
  ])
    await storage.create(one, CreateRight.ofServer);
  let isGathered = () => {};
  const gathered = new Promise<void>((resolve) => {
    isGathered = resolve;
  });
  storage.objects.follow((current) => {
    if (current?.name === 'good' && rulesIn(current.parse()).length > 0) isGathered();
  });
  const aggregator = new ClusterRoleAggregator(storage, (line) => told.push(line));
  await gathered;
  await aggregator.close();
  const found = await storage.read('', 'good');
  expect(rulesIn(found!.parse())).toEqual(rules);
});
