/**
 * What the server writes by itself into the status of an object is written in the end, also where the store could not take it
 * the first time and nobody changes the object again.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeObject } from '../../src/api/index.ts';
import { openEmbeddedStore, type Store, StoreError, type Txn } from '../../src/store/index.ts';
import { startTestServer, type TestServer } from '../../src/testing/index.ts';
import { eventually } from '../support/eventually.ts';
import { withOther } from '../support/store/other-store.ts';
import { type TemporaryDir, temporaryDir } from '../support/temporary-dir.ts';

let dir: TemporaryDir;
let server: TestServer;
const refused: string[] = [];

/** Creates pass; the first put of each of these over another version does not. */
function refusingOnce(store: Store): Store {
  const txn: Store['txn'] = async (asked, options) => {
    const key = [...(asked.then ?? [])].flatMap((op) => (op.kind === 'put' ? [op.key] : []))[0];
    if (key?.endsWith('/fails-once') && isUpdate(asked) && !refused.includes(key)) {
      refused.push(key);
      throw new StoreError('Unavailable', 'Cannot write: just this once');
    }
    return store.txn(asked, options);
  };
  return withOther(store, { txn });
}

const isUpdate = ({ compare = [] }: Txn) => compare.some((one) => one.target === 'modRevision' && one.than !== 0);

beforeAll(async () => {
  dir = await temporaryDir();
  server = await startTestServer({
    countsQuotas: true,
    checksPolicyTypes: true,
    openStore: async () => refusingOnce(await openEmbeddedStore({ dataDir: dir.path, durability: 'none' })),
  });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

it('the count of a ResourceQuota', async () => {
  const quotas = '/api/v1/namespaces/default/resourcequotas';
  await server.client.create(quotas, { metadata: { name: 'fails-once' }, spec: { hard: { configmaps: '2' } } });
  await eventually(async () => {
    const { status } = (await server.client.get(`${quotas}/fails-once`)) as KubeObject;
    expect(status).toMatchObject({ hard: { configmaps: '2' } });
  });
  expect(refused).toContain('/registry/resourcequotas/default/fails-once');
});

it('the type check of a ValidatingAdmissionPolicy', async () => {
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  await server.client.create(policies, {
    metadata: { name: 'fails-once' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      validations: [{ expression: 'object.spec.replicas < 5' }],
    },
  });
  await eventually(async () => {
    const { status } = (await server.client.get(`${policies}/fails-once`)) as KubeObject;
    expect(status).toMatchObject({ observedGeneration: 1 });
  });
  expect(refused).toContain('/registry/validatingadmissionpolicies/fails-once');
});
