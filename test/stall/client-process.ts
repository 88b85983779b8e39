/**
 * The client in a process of its own, for a hostile server to be measured against: it does what its parent says and
 * answers `/livez` meanwhile, as any program that uses the client would. Run by client-target.ts.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, KubeConfig } from '../../src/client/index.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { podsOf } from '../../src/client/pods.ts';
import type { Fault } from '../support/victim/victim.ts';

export type ClientOrder =
  | {
      readonly kind: 'list' | 'listAll' | 'get' | 'create' | 'watch' | 'informer' | 'discovery' | 'exec';
      readonly url: string;
    }
  | { readonly kind: 'kubeconfig'; readonly text: string };

const MOMENT_MS = 3_000;

const health = createServer((_request, response) => response.end('ok'));
health.listen(0, '127.0.0.1');
await once(health, 'listening');

process.on('message', async (order: ClientOrder | 'collect') => {
  if (order === 'collect') global.gc?.();
  else await obey(order).catch(() => {}); // refusals and broken answers are what it is here for
  process.send!({ kind: 'done' });
});
process.on('unhandledRejection', (error) => process.send!({ kind: 'fault', text: String(error) } satisfies Fault));
process.on('disconnect', () => process.exit());
process.send!({ kind: 'ready', url: `http://127.0.0.1:${(health.address() as AddressInfo).port}` });

async function obey(order: ClientOrder): Promise<void> {
  if (order.kind === 'kubeconfig') return readConfig(order.text);
  await using client = new KubeClient(
    { server: new URL(order.url), namespace: 'default' },
    { maxTries: 1, compression: true, onWarning: () => {}, timeouts: { totalMs: MOMENT_MS, idleMs: MOMENT_MS } },
  );
  const maps = client.resource(configMaps);
  const signal = AbortSignal.timeout(MOMENT_MS);
  switch (order.kind) {
    case 'list':
      await maps.list({ signal });
      return;
    case 'listAll':
      for await (const _ of maps.listAll({ signal }));
      return;
    case 'get':
      await maps.get('a', { signal });
      return;
    case 'create':
      await maps.create({ metadata: { name: 'a' } }, { signal });
      return;
    case 'watch':
      for await (const _ of client.watch(configMaps, { resourceVersion: '1', signal }));
      return;
    case 'informer': {
      await using informer = client.informer(configMaps, { onError: () => {} });
      await informer.synced(signal);
      return;
    }
    case 'exec':
      await podsOf(client).run('a', ['true'], { signal });
      return;
    case 'discovery':
      await client.discovery.resources();
      return;
  }
}

async function readConfig(text: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'longwatch-kubeconfig-'));
  try {
    const file = join(dir, 'config');
    writeFileSync(file, text);
    (await KubeConfig.load({ paths: [file] })).access();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
