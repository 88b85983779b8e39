/** An address that a service gave back, and another was given, before it could be written down that the first has it no longer. */
import { expect, it } from 'vitest';
import { openEmbeddedStore, type Store, StoreError } from '../../src/store/index.ts';
import { startTestServer } from '../../src/testing/index.ts';
import { eventually } from '../support/eventually.ts';
import { withOther } from '../support/store/other-store.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const SERVICES = '/api/v1/namespaces/default/services';
const ADDRESS = '10.0.0.77';
const service = (name: string) => ({ metadata: { name }, spec: { clusterIP: ADDRESS, ports: [{ port: 80 }] } });

it('an address that is given on is that of its new service in the end', async () => {
  await using dir = await temporaryDir();
  let refusals = 0;
  const refusing = (store: Store): Store => {
    const txn: Store['txn'] = async (asked, options) => {
      const isDeleted = asked.then?.some((op) => op.kind === 'delete' && JSON.stringify(op.range).includes(ADDRESS));
      if (isDeleted && refusals++ === 0) throw new StoreError('Unavailable', 'Cannot write: just this once');
      return store.txn(asked, options);
    };
    return withOther(store, { txn });
  };
  await using server = await startTestServer({
    openStore: async () => refusing(await openEmbeddedStore({ dataDir: dir.path, durability: 'none' })),
  });
  const { client } = server;
  const isOf = (name: string) =>
    eventually(async () => {
      const { spec } = await client.get(`/apis/networking.k8s.io/v1/ipaddresses/${ADDRESS}`);
      expect(spec).toMatchObject({ parentRef: { name } });
    });
  await client.create(SERVICES, service('before'));
  await isOf('before');
  await client.delete(`${SERVICES}/before`);
  await client.create(SERVICES, service('after'));
  await isOf('after');
  expect(refusals).toBe(2);
});
