/** Random operations against the model and each backend: every answer and every watch must be equal. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../support/etcd-server.ts';
import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import { keepsDeletesAtCompaction } from '../support/store/etcd-versions.ts';
import { ModelStore } from '../support/store/model-store.ts';
import { nextPrefix } from '../support/store/store-under-test.ts';
import { operations } from './operations.ts';
import { type RealStore, SideBySide } from './side-by-side.ts';

/** On failure fast-check prints the seed, the path and the smallest list of operations it found. */
async function compareWithModel(
  open: () => Promise<RealStore & AsyncDisposable>,
  runs: { count: number; operations: number },
): Promise<void> {
  const property = fc.asyncProperty(operations(runs.operations), async (list) => {
    await using real = await open();
    const pair = await SideBySide.start(real);
    await pair.run(list);
  });
  await fc.assert(property, { numRuns: runs.count, interruptAfterTimeLimit: 80_000, markInterruptAsFailure: true });
}

const timeout = 120_000;

describe('random operations', { timeout }, () => {
  it('get equal answers from two models', async () => {
    const open = async () => {
      const store = new ModelStore();
      return { store, prefix: nextPrefix(), [Symbol.asyncDispose]: () => store.close() };
    };
    await compareWithModel(open, { count: 60, operations: 60 });
  });

  it('get equal answers from the model and the embedded store', async () => {
    await compareWithModel(openTemporaryEmbedded, { count: 200, operations: 60 });
  });

  const version = etcdVersion();
  describe.skipIf(version === undefined)(`etcd ${version ?? 'is not on the PATH: skipped'}`, () => {
    let cluster: EtcdCluster | undefined;
    beforeAll(async () => {
      cluster = await startEtcd();
    });
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
    });

    const keepsDeletes = keepsDeletesAtCompaction(version ?? '');
    it('get equal answers from the model and etcd', async () => {
      const open = async () => {
        const store = await openEtcdStore({ endpoints: cluster!.urls });
        return { store, prefix: nextPrefix(), keepsDeletes, [Symbol.asyncDispose]: () => store.close() };
      };
      await compareWithModel(open, { count: 20, operations: 40 });
    });
  });
});
