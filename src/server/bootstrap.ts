/** What a cluster has before anybody puts something in: made when the server starts, if it is not there. */
import type { KubeObject } from '../api/index.ts';
import type { Exchange } from './http/exchange.ts';
import type { Rest } from './rest/rest.ts';
import { createObject } from './rest/write.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export async function ensureNamespaces(rest: Rest): Promise<void> {
  const view = rest.resources.viewOf('', 'namespaces');
  // Nobody asked over the wire: there is no one to warn, and nothing to wait for.
  const exchange = { warn: () => {}, signal: new AbortController().signal } as unknown as Exchange;
  const options = { isDryRun: false, manager: 'longwatch', fieldValidation: 'Ignore', force: false } as const;
  await Promise.all(
    NAMESPACES.map(async (name) => {
      if (await rest.writes.read(view, '', name)) return;
      const namespace: KubeObject = { kind: 'Namespace', apiVersion: 'v1', metadata: { name } };
      await createObject(rest, exchange, view, namespace, options).catch((err: { code?: number }) => {
        if (err.code !== 409) throw err; // another server on the same store was faster
      });
    }),
  );
}
