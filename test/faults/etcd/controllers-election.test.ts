/**
 * Two `longwatch serve` on one etcd, as processes: the controllers of one of them lead. When that one is killed without a
 * word, those of the other take over once the lease has run out, and finish what was begun.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { appsv1, coordinationv1, corev1, KubeClient, KubeConfig, mergePatch } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { etcdVersion, startEtcd } from '../../support/etcd-server.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/longwatch.js', import.meta.url));
const FINALIZER = 'example.com/held';

type Served = AsyncDisposable & { readonly client: KubeClient; kill(): Promise<void> };

async function serve(home: string, name: string, etcdUrls: readonly string[]): Promise<Served> {
  const dataDir = join(home, name);
  const flags = ['--data-dir', dataDir, '--secure-port', '0', '--etcd-servers', etcdUrls.join(), '--controllers=*'];
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  child.stdout.resume();
  const config = await KubeConfig.load({ paths: [join(dataDir, 'admin.kubeconfig')] });
  const client = new KubeClient(config.access({ env: {} }));
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    client,
    kill,
    async [Symbol.asyncDispose]() {
      await client.close();
      await kill();
    },
  };
}

const leaseOf = ({ client }: Served) =>
  client.resource(coordinationv1.leases, 'kube-system').find('kube-controller-manager');
const holderOf = async (server: Served) => (await leaseOf(server))?.spec?.holderIdentity ?? '';

describe.skipIf(!etcdVersion())('with a real etcd', () => {
  it('when the leader is killed, the other takes over and finishes what was begun', { timeout: 180_000 }, async () => {
    const home = mkdtempSync(join(tmpdir(), 'longwatch-election-'));
    try {
      await using etcd = await startEtcd();
      await using first = await serve(home, 'first', etcd.urls);
      await until(async () => (await holderOf(first)) !== '');
      await using second = await serve(home, 'second', etcd.urls);
      const leader = await holderOf(second);

      // Begun, and held up by a finalizer; wishes come true under the first leader.
      await first.client.resource(corev1.namespaces).create({ metadata: { name: 'held' } });
      const maps = (server: Served) => server.client.resource(corev1.configMaps, 'held');
      await maps(first).create({ metadata: { name: 'a', finalizers: [FINALIZER] } });
      const selector = { matchLabels: { app: 'x' } };
      await first.client.resource(appsv1.deployments, 'default').create({
        metadata: { name: 'web' },
        spec: {
          selector,
          template: { metadata: { labels: selector.matchLabels }, spec: { containers: [{ name: 'x', image: 'i' }] } },
        },
      });
      const pods = async (server: Served) => (await server.client.resource(corev1.pods, 'default').list()).items;
      await until(async () => (await pods(second)).length === 1);
      await first.client.resource(corev1.namespaces).delete('held');
      await until(async () => {
        const { status } = await second.client.resource(corev1.namespaces).get('held');
        return status?.conditions?.some(({ type, status: is }) => /Finalizers/.test(type) && is === 'True') ?? false;
      });
      expect(await holderOf(second)).toBe(leader);
      await first.kill();

      await maps(second).patch('a', mergePatch({ metadata: { finalizers: null } }));
      const deployments = second.client.resource(appsv1.deployments, 'default');
      await deployments.patch('web', mergePatch({ spec: { replicas: 3 } }));
      await until(async () => (await second.client.resource(corev1.namespaces).find('held')) === undefined);
      await until(async () => (await pods(second)).length === 3);
      const { spec } = (await leaseOf(second))!;
      expect(spec?.holderIdentity).not.toBe(leader);
      expect(spec?.leaseTransitions).toBe(1);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
