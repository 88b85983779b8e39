/**
 * `longwatch serve` with its controllers, as built, and kubectl: what people type in their first hour. Also `longwatch
 * controllers` in a process of its own, beside a server that has none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/client/client-under-test.ts';
import { Kubectl, kubectls } from './kubectl.ts';
import { ServeCommand } from './serve-command.ts';

const [newest] = kubectls();
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'longwatch-controllers-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const serve = (...flags: string[]) =>
  new ServeCommand(['serve', '--secure-port', '0', '--data-dir', join(home, 'data'), ...flags]);
const accountOf = (kubectl: Kubectl, namespace: string) =>
  until(async () => (await kubectl.try(['get', 'serviceaccount', 'default', '-n', namespace])).code === 0);

describe.skipIf(!newest)('kubectl', () => {
  it('a bare server: a namespace has its account, gives tokens, and goes when it is deleted', async () => {
    await using server = serve();
    const { kubeconfig } = await server.ready();
    const kubectl = new Kubectl(newest!.path, kubeconfig, home);
    await kubectl.run('create', 'namespace', 'shop');
    await accountOf(kubectl, 'shop');
    expect(await kubectl.run('create', 'token', 'default', '-n', 'shop')).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+\s*$/);
    // Pods run as it, without being told to.
    await kubectl.run('run', 'p', '-n', 'shop', '--image=example.com/p:1');
    const path = '-o=jsonpath={.spec.serviceAccountName} {.spec.volumes[0].projected.sources[1].configMap.name}';
    expect(await kubectl.run('get', 'pod', 'p', '-n', 'shop', path)).toBe('default kube-root-ca.crt');
    await kubectl.run('create', 'configmap', 'c', '-n', 'shop', '--from-literal=a=b');
    await kubectl.run('create', 'deployment', 'web', '-n', 'shop', '--image=example.com/web:1');
    await kubectl.run('delete', 'namespace', 'shop', '--wait', '--timeout=25s');
    expect((await kubectl.try(['get', 'namespace', 'shop'])).err).toContain('not found');
    expect(await kubectl.run('get', 'namespaces', '-o', 'name')).toContain('namespace/default');
    server.child.kill('SIGTERM');
    expect((await server.exited)[0]).toBe(0);
    expect(server.err).not.toContain('controllers:');
  });

  it('all controllers and two nodes: deployments, jobs, sets and budgets come true', async () => {
    await using server = serve('--controllers=*', '--pretend-nodes=2');
    const { kubeconfig } = await server.ready();
    const kubectl = new Kubectl(newest!.path, kubeconfig, home);
    await accountOf(kubectl, 'default');
    await kubectl.run('create', 'deployment', 'web', '--image=example.com/web:1', '--replicas=2');
    await kubectl.run('expose', 'deployment', 'web', '--port=80');
    await kubectl.run('create', 'job', 'once', '--image=example.com/once:1');
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=25s');
    await kubectl.run('wait', '--for=condition=complete', 'job/once', '--timeout=25s');
    await kubectl.run('wait', '--for=condition=Ready', 'pod', '-l', 'app=web', '--timeout=25s');
    await until(async () =>
      /(\d+\.){3}\d+ (\d+\.){3}\d+/.test(
        await kubectl.run(
          'get',
          'endpointslices',
          '-l',
          'kubernetes.io/service-name=web',
          '-o',
          'jsonpath={.items[*].endpoints[*].addresses[0]}',
        ),
      ),
    );
    await kubectl.run('set', 'image', 'deployment/web', 'web=example.com/web:2');
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=25s');
    await kubectl.run('rollout', 'undo', 'deployment/web');
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=25s');
    await kubectl.run('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=25s');
    expect(await kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'name')).toBe('');
  }, 60_000);

  it('what would have to run somewhere says that nothing does', async () => {
    await using server = serve('--controllers=*', '--pretend-nodes=1');
    const { kubeconfig } = await server.ready();
    const kubectl = new Kubectl(newest!.path, kubeconfig, home);
    const refused = async (...args: string[]) => (await kubectl.try(args)).err;
    await kubectl.run('create', 'deployment', 'web', '--image=example.com/web:1');
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=25s');
    const pod = (await kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'name')).trim().slice('pod/'.length);
    const nothing = 'error dialing backend: node "node-1" is only pretended, and nothing runs there';
    expect(await kubectl.run('logs', 'deployment/web')).toMatch(/^Nothing runs here: node "node-1" is only pretended/);
    expect(await refused('exec', pod, '--', 'ls')).toContain(nothing);
    expect(await refused('attach', pod)).toContain(nothing);
    expect(await refused('cp', `${pod}:/etc/hosts`, join(home, 'hosts'))).toContain(nothing);
    expect(await refused('port-forward', pod, ':80')).toContain(nothing);
    expect(await refused('top', 'pods')).toBe('error: Metrics API not available\n');
    const overrides = JSON.stringify({ spec: { nodeName: 'nowhere' } });
    await kubectl.run('run', 'lost', '--image=example.com/lost:1', `--overrides=${overrides}`);
    for (const args of [
      ['logs', 'lost'],
      ['exec', 'lost', '--', 'ls'],
      ['attach', 'lost'],
    ])
      expect(await refused(...args)).toContain('nodes "nowhere" not found');
  }, 60_000);

  it('Pods get no account where the plugin is disabled, or nobody makes accounts', async () => {
    for (const flag of ['--disable-admission-plugins=ServiceAccount', '--controllers=-*']) {
      await using server = serve(flag);
      const { kubeconfig } = await server.ready();
      const kubectl = new Kubectl(newest!.path, kubeconfig, home);
      await kubectl.run('run', 'p', '--image=example.com/p:1');
      expect(await kubectl.run('get', 'pod', 'p', '-o=jsonpath={.spec.volumes}')).toBe('');
      await kubectl.run('delete', 'pod', 'p', '--wait=false');
    }
  });

  it('longwatch controllers does the same for a server that has none', async () => {
    await using server = serve('--controllers=-*');
    const { kubeconfig } = await server.ready();
    const kubectl = new Kubectl(newest!.path, kubeconfig, home);
    await kubectl.run('create', 'namespace', 'shop');
    const args = [
      'controllers',
      '--kubeconfig',
      kubeconfig,
      '--controllers',
      'namespace-controller,serviceaccount-controller',
    ];
    await using controllers = new ServeCommand(args);
    await controllers.until(() =>
      /^longwatch controllers ready \S+ namespace-controller,serviceaccount-controller$/m.test(controllers.out),
    );
    await accountOf(kubectl, 'shop');
    await kubectl.run('delete', 'namespace', 'shop', '--wait', '--timeout=25s');
    controllers.child.kill('SIGTERM');
    expect((await controllers.exited)[0]).toBe(0);
  });
});
