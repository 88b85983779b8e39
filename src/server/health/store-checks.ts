/**
 * What probes tell of the store. `/readyz`: it answers (`store`), and it can take writes (`store-writes`). `/livez`: it
 * has not ended for good; only a restart of the server helps then. A store that may come back, such as an etcd that is
 * away, is no reason to restart: it is not asked there.
 */
import { isStoreError, type Store } from '../../store/index.ts';
import type { Health } from './health.ts';

/** A probe must not hang with the store: whoever probes gives up after a second or so. */
const PROBE_MS = 2000;

export function addStoreChecks(health: Health, store: Store, isEmbedded: boolean): void {
  const signal = () => AbortSignal.timeout(PROBE_MS);
  health.addCheck('store', async () => void (await store.revision({ signal: signal() })), ['readyz']);
  health.addCheck('store-writes', async () => {
    const { problems } = await store.status({ signal: signal() });
    if (problems.length > 0) throw new Error(problems.join('; '));
  }, ['readyz']);
  if (!isEmbedded) return;
  health.addCheck('store', async () => {
    try {
      await store.revision({ signal: signal() });
    } catch (err) {
      if (isStoreError(err, 'Closed')) throw err;
    }
  }, ['livez', 'healthz']);
}
