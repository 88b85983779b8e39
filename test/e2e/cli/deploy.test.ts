/**
 * What lies in deploy/ works: alert rules and dashboard ask for what a running server has, the account that scrapes may do
 * just that, the unit is one, the flags in the files are flags, and the steps of the Dockerfile make something that serves.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';
import { ServeCommand } from './serve-command.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DEPLOY = join(ROOT, 'deploy');
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8');

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ introspection: true, controllers: [] });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('what Prometheus and Grafana ask for', () => {
  /** Functions and words of PromQL that are used here; any other word is a metric. */
  const WORDS = new Set('and by histogram_quantile increase max min rate sum time'.split(' '));
  /** Prometheus adds these itself. */
  const ADDED = ['instance', 'job'];

  /** Metrics and labels in an expression. */
  function namesIn(expr: string): { metrics: string[]; labels: string[] } {
    const labels: string[] = [];
    const bare = expr
      .replaceAll(/"[^"]*"/g, '""')
      .replaceAll(/\{([^}]*)\}/g, (_all, matchers: string) => {
        labels.push(...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name]) => name!));
        return '';
      })
      .replaceAll(/\[[^\]]*\]/g, '')
      .replaceAll(/\bby\s*\(([^)]*)\)/g, (_all, by: string) => {
        labels.push(...by.split(',').map((name) => name.trim()));
        return '';
      });
    const metrics = [...bare.matchAll(/(?<![\w.])[a-z_][a-z0-9_]*/g)]
      .map(([name]) => name)
      .filter((name) => !WORDS.has(name));
    return { metrics, labels: labels.filter((name) => !ADDED.includes(name)) };
  }

  type Served = { readonly names: Set<string>; readonly labels: Map<string, Set<string>> };

  /** What a server has that was used: watches that ended, a 410, requests that were refused. */
  async function served(): Promise<Served> {
    const { client } = server;
    const watches = '/apis/introspection.longwatch.dev/v1alpha1/watches';
    const gone = await client.watch(watches, { resourceVersion: 1 });
    while (await gone.next());
    await client.ask('GET', '/api/v1/namespaces/default/configmaps/none');
    await using _open = await client.watch('/api/v1/pods');
    const names = new Set<string>();
    const labels = new Map<string, Set<string>>();
    await eventually(async () => {
      const text = (await client.ask('GET', '/metrics')).body.toString();
      for (const line of text.split('\n')) {
        const type = /^# TYPE (\S+) (\w+)/.exec(line);
        if (type)
          for (const end of type[2] === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) names.add(type[1]! + end);
        const sample = /^([a-z_]\w*)(?:\{(.*)\})? /.exec(line);
        if (!sample) continue;
        const known = labels.get(sample[1]!) ?? new Set();
        for (const [, label] of (sample[2] ?? '').matchAll(/(\w+)="/g)) known.add(label!);
        labels.set(sample[1]!, known);
      }
      expect(labels.has('longwatch_watch_lag_seconds_bucket')).toBe(true); // looked at once a second
    });
    return { names, labels };
  }

  /** What a server counts only once it has happened, and that did not happen here. */
  const UNSEEN = ['apiserver_flowcontrol_rejected_requests_total', 'apiserver_admission_webhook_fail_open_count'];

  it('is what a running server has: every metric, and every label of it', async () => {
    type Rules = { groups: { rules: { alert: string; expr: string; annotations: JsonObject }[] }[] };
    const rules = (load(read('prometheus/longwatch-rules.yml')) as Rules).groups.flatMap((group) => group.rules);
    type Dashboard = { panels: { title: string; targets?: { expr: string }[] }[] };
    const { panels } = JSON.parse(read('grafana/generated/longwatch.json')) as Dashboard;
    const asked = [
      ...rules.map(({ alert, expr }) => [alert, expr]),
      ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr])),
    ] as [string, string][];
    expect(rules.length).toBeGreaterThan(10);
    expect(asked.length).toBeGreaterThan(rules.length + 20);
    const there = await served();
    const faults = asked.flatMap(([where, expr]) => {
      const { metrics, labels } = namesIn(expr);
      const known = metrics.filter((name) => name !== 'up');
      const missing = known.filter((name) => !there.names.has(name)).map((name) => `${where}: no metric ${name}`);
      const has = (label: string) => known.some((name) => UNSEEN.includes(name) || there.labels.get(name)?.has(label));
      const odd = known.length === 0 ? [] : labels.filter((label) => !has(label));
      const silent = known.filter((name) => !there.labels.has(name) && !UNSEEN.includes(name));
      return [
        ...missing,
        ...odd.map((label) => `${where}: no label ${label}`),
        ...silent.map((name) => `${where}: ${name} was never seen`),
      ];
    });
    expect(faults).toEqual([]);
    for (const { annotations } of rules) expect(Object.keys(annotations)).toEqual(['summary', 'action']);
  });

  it('is read by an account that may read that, and nothing else', async () => {
    const paths: Record<string, string> = {
      ServiceAccount: '/api/v1/namespaces/kube-system/serviceaccounts',
      Secret: '/api/v1/namespaces/kube-system/secrets',
      ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    };
    for (const object of loadAll(read('prometheus/metrics-reader.yaml')) as KubeObject[])
      await server.client.create(paths[object.kind!]!, object);
    const token = await eventually(async () => {
      const { data } = (await server.client.get(`${paths.Secret}/metrics-reader`)) as unknown as {
        data?: { token?: string };
      };
      expect(data?.token).toBeDefined();
      return Buffer.from(data!.token!, 'base64').toString();
    });
    const scraper = server.connect({ token });
    await eventually(async () => expect((await scraper.ask('GET', '/metrics')).status).toBe(200));
    for (const path of ['/api/v1/pods', '/longwatch/snapshot', '/debug/api_priority_and_fairness/dump_queues'])
      expect((await scraper.ask('GET', path)).status).toBe(403);
  });
});

const has = (command: string, ...args: string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

it.skipIf(!has('systemd-analyze', '--version'))('the unit is one (needs systemd-analyze)', () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(DEPLOY, 'systemd/longwatch.service')], {
    encoding: 'utf8',
  });
  const ours = stderr.split('\n').filter((line) => line.includes('longwatch'));
  expect({ status, ours }).toEqual({ status: 0, ours: [] });
});

it('the unit, the container and the compose file name flags and files that there are', () => {
  const help = readFileSync(join(ROOT, 'docs/server.md'), 'utf8');
  const flags = [...help.matchAll(/^\| (`--[^|]*)\|/gm)].flatMap(([, cell]) => [
    ...cell!.matchAll(/`--([a-z0-9-]+)`/g),
  ]);
  const known = new Set([...flags.map(([, name]) => name!), 'config']);
  const texts = ['systemd/longwatch.service', 'container/Dockerfile', 'container/compose.yaml'].map((path) =>
    read(path)
      .split('\n')
      .filter((line) => /serve|^\s+- --/.test(line) && !line.startsWith('#'))
      .join('\n'),
  );
  const used = texts.flatMap((text) => [...text.matchAll(/--([a-z][a-z0-9-]+)/g)].map(([, name]) => name!));
  const inFile = Object.keys(load(read('systemd/server.yaml')) as object);
  const commented = [...read('systemd/server.yaml').matchAll(/^# ([a-z-]+): /gm)].map(([, name]) => name!);
  expect([...used, ...inFile, ...commented].filter((name) => !known.has(name))).toEqual([]);
  expect(used.length).toBeGreaterThan(8);
  type Compose = { services: Record<string, { volumes?: string[]; build?: { context: string; dockerfile: string } }> };
  const { services } = load(read('container/compose.yaml')) as Compose;
  const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0]!));
  const files = mounted.filter((path) => path.startsWith('..')).map((path) => join(DEPLOY, 'container', path));
  expect(files.filter((path) => !existsSync(path))).toEqual([]);
  const { context, dockerfile } = services.longwatch!.build!;
  expect(existsSync(join(DEPLOY, 'container', context, dockerfile))).toBe(true);
});

/** Far more than it takes: packages are fetched. */
const FETCH_MS = 300_000;

it('the steps of the Dockerfile, in an empty folder, make what serves and holds no tools', {
  timeout: FETCH_MS,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-image-'));
  try {
    const script = join(ROOT, 'scripts/dockerfile-steps.mjs');
    const child = spawn(process.execPath, [script, join(DEPLOY, 'container/Dockerfile'), join(folder, 'image')]);
    let [out, err] = ['', ''];
    child.stdout.on('data', (text) => (out += text));
    child.stderr.on('data', (text) => (err += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    expect(err).not.toContain('WARNING');
    const last = out.trim().split('\n').at(-1)!;
    const {
      folder: image,
      entrypoint,
      cmd,
    } = JSON.parse(last) as { folder: string; entrypoint: string[]; cmd: string[] };
    expect(readdirSync(image).sort()).toEqual(['bin', 'dist', 'node_modules', 'package.json']);
    for (const tool of ['typescript', 'vitest', 'esbuild', '@biomejs'])
      expect(existsSync(join(image, 'node_modules', tool))).toBe(false);
    const elsewhere = { '/var/lib/longwatch': join(folder, 'data'), '/tmp/longwatch-ready': join(folder, 'ready') };
    const args = cmd.map((word) => elsewhere[word as keyof typeof elsewhere] ?? word);
    const command = [process.execPath, join(image, entrypoint[1]!)] as const;
    await using serving = new ServeCommand([...args, '--secure-port', '0'], { command });
    await serving.ready();
    const client = await serving.client();
    expect((await client.ask('GET', '/readyz')).body.toString()).toBe('ok');
    client.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it.skipIf(!has('docker', 'info'))('the Dockerfile is built by a daemon (needs docker)', { timeout: FETCH_MS }, () => {
  const args = ['build', '-f', join(DEPLOY, 'container/Dockerfile'), '-t', 'longwatch-test', ROOT];
  const { status, stderr } = spawnSync('docker', args, { encoding: 'utf8' });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
});
