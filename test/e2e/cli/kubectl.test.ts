/** What people do with kubectl all day, with real kubectls of several versions against a real server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls();
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "example.com/web:1", ports: [{containerPort: 80}]}
`;
const pod = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
});

describe.each(found)('kubectl $version', ({ version, path }) => {
  let server: TestServer;
  let home: string;
  let kubectl: Kubectl;
  let count = 0;
  const isAtLeast = (minor: number) => Number(version.slice(2)) >= minor;

  beforeAll(async () => {
    server = await startTestServer();
    home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    kubectl = new Kubectl(path, server.kubeconfigPath, home);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });
  const newNamespace = async () => {
    const name = `ns-${count++}`;
    await kubectl.run('create', 'namespace', name);
    return name;
  };
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };

  it('applies from YAML: created, unchanged, configured; and diff shows what would change', async () => {
    const n = await newNamespace();
    const yaml = file('web.yaml', DEPLOYMENT);
    expect(await kubectl.run('apply', '-n', n, '-f', yaml)).toBe('deployment.apps/web created\n');
    expect(await kubectl.run('apply', '-n', n, '-f', yaml)).toBe('deployment.apps/web unchanged\n');
    const changed = file('web-2.yaml', DEPLOYMENT.replace('web:1', 'web:2'));
    const diff = await kubectl.try(['diff', '-n', n, '-f', changed]);
    expect(diff.code).toBe(1);
    expect(diff.out).toMatch(/^-\s+- image: example\.com\/web:1$/m);
    expect(diff.out).toMatch(/^\+\s+- image: example\.com\/web:2$/m);
    expect(await kubectl.run('apply', '-n', n, '-f', changed)).toBe('deployment.apps/web configured\n');
    const none = await kubectl.try(['diff', '-n', n, '-f', changed]);
    expect(none).toMatchObject({ code: 0, out: '' });
    const image = '{.spec.template.spec.containers[0].image}';
    expect(await kubectl.run('get', '-n', n, 'deploy/web', '-o', `jsonpath=${image}`)).toBe('example.com/web:2');
  });

  it('gets as table, wide, name, YAML, JSON, by selectors and across namespaces', async () => {
    const n = await newNamespace();
    const items = [pod('one', { app: 'a' }), pod('two', { app: 'b' })];
    await kubectl.with({ apiVersion: 'v1', kind: 'List', items }, 'create', '-n', n);
    const table = await kubectl.run('get', '-n', n, 'pods');
    expect(table).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\none +0\/1 +Pending +0 +\S+\ntwo /);
    expect(await kubectl.run('get', '-n', n, 'po', '-o', 'wide')).toMatch(/NOMINATED NODE +READINESS GATES/);
    expect(await kubectl.run('get', '-n', n, 'pods', '-o', 'name')).toBe('pod/one\npod/two\n');
    expect(await kubectl.run('get', '-n', n, 'pod', 'one', '-o', 'yaml')).toMatch(/^apiVersion: v1\nkind: Pod\n/);
    const list = JSON.parse(await kubectl.run('get', '-n', n, 'pods', '-o', 'json')) as { items: unknown[] };
    expect(list.items).toHaveLength(2);
    expect(await kubectl.run('get', '-n', n, 'pods', '-l', 'app in (b,c)', '-o', 'name')).toBe('pod/two\n');
    const byField = ['--field-selector', 'metadata.name=one,status.phase=Pending'];
    expect(await kubectl.run('get', '-n', n, 'pods', ...byField, '-o', 'name')).toBe('pod/one\n');
    expect(await kubectl.run('get', 'pods', '-A')).toMatch(new RegExp(`^${n} +one `, 'm'));
    const missing = await kubectl.try(['get', '-n', n, 'pod', 'three']);
    expect(missing.err).toBe('Error from server (NotFound): pods "three" not found\n');
  });

  it('get -w shows changes as they happen', async () => {
    const n = await newNamespace();
    await kubectl.with(pod('first'), 'create', '-n', n);
    await using watch = kubectl.start('get', '-n', n, 'pods', '-w', '--output-watch-events');
    await watch.until(/^ADDED +first .*Pending/m);
    await kubectl.with(pod('second'), 'create', '-n', n);
    await watch.until(/^ADDED +second /m);
    await setStatus(n, 'first', { phase: 'Running' });
    await watch.until(/^MODIFIED +first .*Running/m);
    await kubectl.run('delete', '-n', n, 'pod', 'second', '--grace-period=0', '--force');
    await watch.until(/^DELETED +second /m);
  });

  it('wait returns when the condition is there, and when the object is gone', async () => {
    const n = await newNamespace();
    await kubectl.with(pod('slow'), 'create', '-n', n);
    await using waiting = kubectl.start('wait', '-n', n, 'pod/slow', '--for=condition=Ready', '--timeout=60s');
    await setStatus(n, 'slow', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
    await waiting.until(/^pod\/slow condition met$/m);
    const phase = ['--for=jsonpath={.status.phase}=Running', '--timeout=20s'];
    expect(await kubectl.run('wait', '-n', n, 'pod/slow', ...phase)).toBe('pod/slow condition met\n');
    await using gone = kubectl.start('wait', '-n', n, 'pod/slow', '--for=delete', '--timeout=60s');
    await kubectl.run('delete', '-n', n, 'pod', 'slow', '--grace-period=0', '--force', '--wait=false');
    expect(await gone.ended()).toBe(0);
  });

  it('patches in three ways, labels, annotates, scales', async () => {
    const n = await newNamespace();
    await kubectl.run('apply', '-n', n, '-f', file('web.yaml', DEPLOYMENT));
    const read = async (what: string) => kubectl.run('get', '-n', n, 'deploy/web', '-o', `jsonpath={${what}}`);
    const strategic = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}';
    await kubectl.run('patch', '-n', n, 'deploy/web', '-p', strategic);
    expect((await read('.spec.template.spec.containers[*].name')).split(' ').sort()).toEqual(['side', 'web']);
    await kubectl.run('patch', '-n', n, 'deploy/web', '--type=merge', '-p', '{"metadata":{"labels":{"tier":null}}}');
    expect(await read('.metadata.labels')).toBe('');
    const isTwo = { op: 'test', path: '/spec/replicas', value: 2 };
    const jsonPatch = JSON.stringify([isTwo, { op: 'add', path: '/spec/paused', value: true }]);
    await kubectl.run('patch', '-n', n, 'deploy/web', '--type=json', '-p', jsonPatch);
    expect(await read('.spec.paused')).toBe('true');
    await kubectl.run('label', '-n', n, 'deploy/web', 'color=red');
    expect(await read('.metadata.labels.color')).toBe('red');
    const again = await kubectl.try(['label', '-n', n, 'deploy/web', 'color=blue']);
    expect(again.err).toContain("'color' already has a value (red), and --overwrite is false");
    await kubectl.run('annotate', '-n', n, 'deploy/web', 'example.com/note=hello');
    expect(await read('.metadata.annotations.example\\.com/note')).toBe('hello');
    expect(await kubectl.run('scale', '-n', n, 'deploy/web', '--replicas=5')).toBe('deployment.apps/web scaled\n');
    expect(await read('.spec.replicas')).toBe('5');
    const guarded = await kubectl.try(['scale', '-n', n, 'deploy/web', '--replicas=1', '--current-replicas=2']);
    expect(guarded.err).toContain('Expected replicas to be 2, was 5');
  });

  it('creates by command, which newer kubectls send as protobuf, and deletes and waits', async () => {
    const n = await newNamespace();
    await kubectl.run('create', '-n', n, 'configmap', 'settings', '--from-literal=a=1', '--from-literal=b=zwei');
    expect(await kubectl.run('get', '-n', n, 'cm/settings', '-o', 'jsonpath={.data}')).toBe('{"a":"1","b":"zwei"}');
    await kubectl.run('create', '-n', n, 'secret', 'generic', 'hidden', '--from-literal=password=geheim');
    const secret = await kubectl.run('get', '-n', n, 'secret/hidden', '-o', 'jsonpath={.data.password}');
    expect(Buffer.from(secret, 'base64').toString()).toBe('geheim');
    await kubectl.run('create', '-n', n, 'deployment', 'made', '--image=example.com/made', '--replicas=3');
    expect(await kubectl.run('get', '-n', n, 'deploy/made', '-o', 'jsonpath={.spec.replicas}')).toBe('3');
    const deleted = await kubectl.run('delete', '-n', n, 'cm/settings', 'secret/hidden', 'deploy/made', '--wait');
    expect(deleted).toContain('configmap "settings" deleted');
    expect(await kubectl.run('get', '-n', n, 'deploy,secrets', '-o', 'name')).toBe('');
    const twice = await kubectl.try(['create', 'namespace', n]);
    expect(twice.err).toBe(`Error from server (AlreadyExists): namespaces "${n}" already exists\n`);
  });

  it('get --raw streams a watch', async () => {
    const n = await newNamespace();
    const url = `/api/v1/namespaces/${n}/configmaps?watch=true&resourceVersion=0`;
    await using raw = kubectl.start('get', '--raw', url);
    await kubectl.run('create', '-n', n, 'configmap', 'seen');
    await raw.until(/^\{"type":"ADDED","object":\{.*"name":"seen".*\}\}$/m);
  });

  it('a stale replace is refused in the words people know', async () => {
    const n = await newNamespace();
    await kubectl.run('create', '-n', n, 'configmap', 'shared', '--from-literal=a=1');
    const stale = JSON.parse(await kubectl.run('get', '-n', n, 'cm/shared', '-o', 'json')) as object;
    await kubectl.run('patch', '-n', n, 'cm/shared', '--type=merge', '-p', '{"data":{"a":"2"}}');
    const { code, err } = await kubectl.try(
      ['replace', '-n', n, '-f', '-'],
      JSON.stringify({ ...stale, data: { a: '3' } }),
    );
    expect(code).toBe(1);
    expect(err).toContain(
      'Operation cannot be fulfilled on configmaps "shared": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(await kubectl.run('get', '-n', n, 'cm/shared', '-o', 'jsonpath={.data.a}')).toBe('2');
  });

  it('server-side apply: another manager’s field is a conflict until it is forced', async () => {
    const n = await newNamespace();
    const settings = (a: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ours', namespace: n },
      data: { a },
    });
    const apply = (a: string, manager: string, ...more: string[]) =>
      kubectl.try(
        ['apply', '--server-side', `--field-manager=${manager}`, ...more, '-f', '-'],
        JSON.stringify(settings(a)),
      );
    expect((await apply('1', 'alice')).out).toBe('configmap/ours serverside-applied\n');
    const refused = await apply('2', 'bob');
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/Apply failed with 1 conflict: conflict with "alice": \.data\.a/);
    expect((await apply('1', 'bob')).code).toBe(0); // to agree is no conflict
    expect((await apply('2', 'bob', '--force-conflicts')).code).toBe(0);
    expect(await kubectl.run('get', '-n', n, 'cm/ours', '-o', 'jsonpath={.data.a}')).toBe('2');
    expect((await apply('3', 'alice')).err).toMatch(/conflict with "bob": \.data\.a/);
  });

  it('explains, lists what there is, says who and what it talks to', async () => {
    const explained = await kubectl.run('explain', 'deployment.spec.strategy');
    expect(explained).toMatch(/KIND: +Deployment/);
    expect(explained).toMatch(/rollingUpdate/);
    expect(explained).not.toContain('<empty>');
    const names = (await kubectl.run('api-resources', '-o', 'name')).split('\n');
    expect(names).toEqual(
      expect.arrayContaining(['pods', 'configmaps', 'deployments.apps', 'leases.coordination.k8s.io']),
    );
    expect(await kubectl.run('api-versions')).toMatch(/^apps\/v1$/m);
    expect(await kubectl.run('version', '-o', 'json')).toMatch(/"serverVersion": \{/);
    if (isAtLeast(28)) expect(await kubectl.run('auth', 'whoami')).toMatch(/Username +kubernetes-admin/);
    expect(await kubectl.run('auth', 'can-i', 'delete', 'pods', '-A')).toBe('yes\n');
    expect(await kubectl.run('cluster-info')).toMatch(/is running at/);
    if (isAtLeast(28)) expect(await kubectl.run('events', '-A')).toBe('');
  });

  /** As a kubelet would. */
  async function setStatus(namespace: string, name: string, status: object): Promise<void> {
    const patch = JSON.stringify({ status });
    await kubectl.run('patch', '-n', namespace, 'pod', name, '--subresource=status', '--type=merge', '-p', patch);
  }
});
