import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withOther } from '../../../../test/support/store/other-store.ts';
import { backgroundClock } from '../../../api/index.ts';
import { openEmbeddedStore, type Store, StoreError } from '../../../store/index.ts';
import { AdmissionChain } from '../../admission/admission-chain.ts';
import { alwaysAllow } from '../../auth/authorizer.ts';
import { Registry } from '../../registry/registry.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { ResourceStorages } from '../../storage/resource-storages.ts';
import { Rest, type RestParts } from '../rest.ts';
import { handlePatch } from './patch.ts';

let dataDir: string;
let store: Store;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-patch-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

it('an apply that cannot create says so, however often it would have to try', async () => {
  let tries = 0;
  const full = withOther(store, {
    txn: async () => {
      // The end of a loop that would never let go of the process.
      if (++tries > 20) throw new Error('Cannot give up');
      throw new StoreError('NoSpace', 'Cannot write: the store is full');
    },
  });
  const registry = new Registry();
  const options = { registry, store: full, root: '/registry', clock: backgroundClock, log: () => {} };
  const storages = new ResourceStorages({ ...options, watchCacheLimits: () => 'off' });
  const admission = new AdmissionChain([]);
  const rest = new Rest({ storages, authorizer: alwaysAllow, admission, guard: () => {} } as unknown as RestParts);
  const body = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'n1' } };
  const context = {
    query: new URLSearchParams('fieldManager=me'),
    headers: { 'content-type': 'application/apply-patch+yaml' },
    user: { username: 'u', groups: [] },
    signal: new AbortController().signal,
    readBody: async () => Buffer.from(JSON.stringify(body)),
    warn: () => {},
  } as unknown as RequestContext;
  const place = { namespace: '', name: 'n1', subresource: '' };
  const storage = storages.storageOf('', 'nodes');
  await expect(handlePatch(rest, context, storage, place)).rejects.toThrow('the store is full');
  expect(tries).toBeLessThanOrEqual(2);
});
