/** `longwatch watch` against a real server: every form, selectors, names as kubectl has them, checkpoints, lost history. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WatchFlags, watchResource } from '../../../src/cli/commands/watch/follow.ts';
import { startFaultProxy, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { runToEnd, TestIo } from '../../support/cli/test-io.ts';
import { until } from '../../support/client/client-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const namespace of ['shop', 'lab'])
    await server.client.create('/api/v1/namespaces', { metadata: { name: namespace } });
});
afterAll(() => server[Symbol.asyncDispose]());

const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
const put = (namespace: string, name: string, data: object = {}, labels: object = {}) =>
  server.client.create(configMaps(namespace), { metadata: { name, labels }, data });
const change = (namespace: string, name: string, data: object) =>
  server.client.ask('PATCH', `${configMaps(namespace)}/${name}`, {
    body: { data },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
const watching = (typed: string, flags: WatchFlags, name?: string) =>
  new TestIo(watchResource(typed, name, { kubeconfig: server.kubeconfigPath, ...flags }));

describe('longwatch watch', () => {
  it('prints what is there and then every change, a line each', async () => {
    await put('shop', 'first');
    await using io = watching('cm', { namespace: 'shop' });
    await io.until(({ out }) => /^ADDED {4}shop\/first @\d+$/m.test(out));
    await change('shop', 'first', { a: 'b' });
    await io.until(({ out }) => /^MODIFIED shop\/first @\d+$/m.test(out));
    await server.client.ask('DELETE', `${configMaps('shop')}/first`);
    await io.until(({ out }) => /^DELETED {2}shop\/first @\d+$/m.test(out));
    expect(await io.interrupt()).toBe(0);
    expect(io.err).toBe('');
  });

  it.each(['pods', 'po', 'Pod', 'pods.v1', 'deploy', 'deployments.apps', 'deployments.v1.apps', 'ev'])(
    'knows %s',
    async (typed) => {
      const { code, err } = await runToEnd(
        watchResource(typed, undefined, { kubeconfig: server.kubeconfigPath, timeout: 1, allNamespaces: true }),
      );
      expect({ code, err }).toEqual({ code: 0, err: '' });
    },
  );

  it('what it does not know is refused, with what was meant', async () => {
    const { code, err } = await runToEnd(watchResource('podz', undefined, { kubeconfig: server.kubeconfigPath }));
    expect(code).toBe(1);
    expect(err).toContain('Cannot find the resource "podz"');
    expect(err).toContain('Did you mean "pods"');
  });

  it('-A, -l, --field-selector and a name choose', async () => {
    await put('lab', 'chosen', {}, { app: 'web' });
    await put('lab', 'other', {}, { app: 'db' });
    const end = { maxEvents: 1, output: 'name' as const };
    for (const [flags, name] of [
      [{ allNamespaces: true, selector: 'app=web' }, undefined],
      [{ namespace: 'lab', fieldSelector: 'metadata.name=chosen' }, undefined],
      [{ namespace: 'lab' }, 'chosen'],
    ] as const) {
      await using io = watching('configmaps', { ...flags, ...end }, name);
      expect(await io.ended).toBe(0);
      expect(io.out).toBe('configmap/chosen\n');
    }
  });

  it('-A and -n together are a mistake', async () => {
    const both = watchResource('cm', undefined, { allNamespaces: true, namespace: 'a' });
    expect((await runToEnd(both)).code).toBe(2);
  });

  it('-o json, yaml and diff', async () => {
    await put('shop', 'forms', { a: '1' });
    const flags = { namespace: 'shop', fieldSelector: 'metadata.name=forms', maxEvents: 2 };
    await using json = watching('cm', { ...flags, output: 'json' });
    await using yaml = watching('cm', { ...flags, output: 'yaml' });
    await using diff = watching('cm', { ...flags, output: 'diff' });
    for (const io of [json, yaml, diff]) await io.until(({ out }) => out.includes('ADDED'));
    await change('shop', 'forms', { a: '2', b: '3' });
    expect(await Promise.all([json, yaml, diff].map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const events = json.lines.map((line) => JSON.parse(line));
    expect(events.map(({ type, object }) => [type, object.data])).toEqual([
      ['ADDED', { a: '1' }],
      ['MODIFIED', { a: '2', b: '3' }],
    ]);
    expect(yaml.out.split('---\n')).toHaveLength(3);
    expect(yaml.out).toContain('type: MODIFIED\n');
    expect(diff.out).toContain('~ data.a: "1" -> "2"');
    expect(diff.out).toContain('+ data.b: "3"');
    expect(diff.out).not.toContain('resourceVersion');
  });

  it('--checkpoint goes on where the last run ended, and misses nothing', async () => {
    await using folder = await temporaryDir();
    const checkpoint = join(folder.path, 'cm.version');
    const flags = { namespace: 'shop', selector: 'run=check', checkpoint, output: 'name' as const };
    await put('shop', 'one', {}, { run: 'check' });
    {
      await using io = watching('cm', flags);
      await io.until(({ out }) => out.includes('configmap/one'));
      await put('shop', 'two', {}, { run: 'check' });
      await io.until(({ out }) => out.includes('configmap/two'));
    }
    expect(existsSync(checkpoint)).toBe(true);
    await put('shop', 'three', {}, { run: 'check' });
    await using io = watching('cm', { ...flags, maxEvents: 1 });
    expect(await io.ended).toBe(0);
    expect(io.out).toBe('configmap/three\n');
    expect(io.err).toContain('going on after version');
  });

  it('lost history is said; a run that began at a checkpoint says that it does not know what is gone', async () => {
    await using other = await startTestServer();
    const path = configMaps('default');
    await other.client.create(path, { metadata: { name: 'kept' } });
    await using folder = await temporaryDir();
    const checkpoint = join(folder.path, 'version');
    const flags = { kubeconfig: other.kubeconfigPath, namespace: 'default', checkpoint };
    {
      await using io = new TestIo(watchResource('cm', undefined, flags));
      await io.until(({ out }) => out.includes('default/kept'));
    }
    for (const name of ['a', 'b']) await other.client.create(path, { metadata: { name } });
    await other.expireHistory();
    await using io = new TestIo(watchResource('cm', undefined, flags));
    await io.until(({ out }) => out.includes('default/kept'));
    expect(io.err).toContain('410 Expired');
    expect(io.err).toContain('cannot be told');
  });

  it('lost history in the middle: the state is compared, and only what differs is printed', async () => {
    await using other = await startTestServer();
    await using proxy = await startFaultProxy(other);
    const path = configMaps('default');
    for (const name of ['kept', 'changed', 'gone']) await other.client.create(path, { metadata: { name } });
    const flags = { kubeconfig: proxy.kubeconfigPath, namespace: 'default' };
    await using io = new TestIo(watchResource('cm', undefined, flags));
    await until(() => proxy.open.some(({ kind }) => kind === 'watch'));
    const before = io.lines.length;
    proxy.answer({ code: 410, to: 'watch' });
    proxy.refuse();
    proxy.cut();
    await other.client.create(path, { metadata: { name: 'new' } });
    await other.client.ask('DELETE', `${path}/gone`);
    await other.client.ask('PUT', `${path}/changed`, { body: { metadata: { name: 'changed' }, data: { a: 'b' } } });
    proxy.refuse(false);
    await io.until(({ out }) => out.includes('DELETED'));
    const after = io.lines.slice(before).map((line) => line.replace(/ @.*/, ''));
    expect(after.sort()).toEqual(['ADDED    default/new', 'DELETED  default/gone', 'MODIFIED default/changed']);
    expect(io.err).not.toContain('cannot be told');
  });

  it('a server that is not there is said with what to do', async () => {
    await using folder = await temporaryDir();
    const missing = join(folder.path, 'none');
    const { code, err } = await runToEnd(watchResource('cm', undefined, { kubeconfig: missing }));
    expect(code).toBe(1);
    expect(err).toContain('--kubeconfig FILE');
  });
});
