/**
 * What probes tell of the store. `/readyz`: it answers (`etcd-readiness`), and it can take writes (`store-writes`). `/livez`
 * and `/healthz`: it has not ended for good (`etcd`); only a restart of the server helps then. A store that may come back, such as an etcd that is
 * away, is no reason to restart. The names are those that
 * kube-apiserver has for them, whatever the store is.
 */
import { isStoreError, type Store } from '../../store/index.ts';
import type { Health } from './health.ts';

/** A probe must not hang with the store: whoever probes gives up after a second or so. */
const PROBE_MS = 2000;

export function addStoreChecks(health: Health, store: Store, isEmbedded: boolean): void {
  const answers = async () => void (await store.revision({ signal: AbortSignal.timeout(PROBE_MS) }));
  health.addCheck('etcd', async () => {
    if (!isEmbedded) return;
    try {
      await answers();
    } catch (err) {
      if (isStoreError(err, 'Closed')) throw err;
    }
  });
  health.addCheck('etcd-readiness', answers, ['readyz']);
  health.addCheck('store-writes', async () => {
    const { problems } = await store.status({ signal: AbortSignal.timeout(PROBE_MS) });
    if (problems.length > 0) throw new Error(problems.join('; '));
  }, ['readyz']);
}
