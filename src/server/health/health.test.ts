import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedStore, type Store, StoreError } from '../../store/index.ts';
import type { RequestContext } from '../request/request-context.ts';
import { Health } from './health.ts';
import { StartHooks } from './start-hooks.ts';
import { addStoreChecks } from './store-checks.ts';

async function ask(health: Health, url: string): Promise<{ handled: boolean; status?: number; text?: string }> {
  const [path = '', query = ''] = url.split('?');
  const answer: { status?: number; text?: string } = {};
  const context = {
    path,
    query: new URLSearchParams(query),
    send: (status: number, _type: string, body: Buffer) => Object.assign(answer, { status, text: body.toString() }),
  } as unknown as RequestContext;
  return { handled: await health.handle(context), ...answer };
}

it('Health answers every probe, in full for those who want to know', async () => {
  const health = new Health();
  health.addCheck('store', async () => {}, ['readyz', 'livez']);
  for (const probe of ['healthz', 'livez', 'readyz'])
    expect(await ask(health, `/${probe}`)).toEqual({ handled: true, status: 200, text: 'ok' });
  expect((await ask(health, '/livez?verbose')).text).toBe('[+]ping ok\n[+]store ok\nlivez check passed\n');
  expect((await ask(health, '/livez?verbose=true&exclude=ping&exclude=x')).text).toBe(
    '[+]ping excluded: ok\n[+]store ok\nwarn: some health checks cannot be excluded: no matches for "x"\nlivez check passed\n',
  );
  expect(await ask(health, '/readyz/store')).toEqual({ handled: true, status: 200, text: 'ok' });
  for (const path of ['/readyz/none', '/healthz/store', '/health', '/readyz/store/x'])
    expect(await ask(health, path)).toEqual({ handled: false });
});

it('Health keeps the reason of a failure to itself', async () => {
  const logged: string[] = [];
  const health = new Health((message) => logged.push(message));
  health.addCheck('store', () => Promise.reject(new Error('the disk /dev/x is gone')), ['readyz']);
  const { status, text } = await ask(health, '/readyz');
  expect([status, text]).toEqual([
    500,
    '[+]ping ok\n[+]shutdown ok\n[-]store failed: reason withheld\nreadyz check failed\n',
  ]);
  expect((await ask(health, '/readyz/store')).status).toBe(500);
  expect((await ask(health, '/readyz?exclude=store')).text).toBe('ok');
  expect(logged).toEqual([expect.stringContaining('/dev/x'), expect.stringContaining('/dev/x')]);
});

it('Health fails readyz, and only that, once the server is going', async () => {
  const health = new Health();
  health.stop();
  expect((await ask(health, '/readyz')).text).toContain('[-]shutdown failed: reason withheld');
  expect((await ask(health, '/livez')).status).toBe(200);
});

describe('the store', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'longwatch-health-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const probes = async (health: Health) =>
    Promise.all(
      ['/livez', '/readyz/etcd-readiness', '/readyz/store-writes'].map(async (url) => (await ask(health, url)).status),
    );

  it('is not ready while it cannot take writes, and lives', async () => {
    // One page is more than it may hold, so it is full from the start.
    await using store = await openEmbeddedStore({ dataDir: folder, durability: 'none', quotaBytes: 1 });
    const logged: string[] = [];
    const health = new Health((line) => void logged.push(line));
    addStoreChecks(health, store, true);
    expect(await probes(health)).toEqual([200, 200, 500]);
    expect(logged.join()).toMatch(/store-writes failed: .*bytes are in use/);
  });

  it('that has ended for good is neither ready nor alive', async () => {
    const store = await openEmbeddedStore({ dataDir: folder, durability: 'none' });
    const health = new Health();
    addStoreChecks(health, store, true);
    expect(await probes(health)).toEqual([200, 200, 200]);
    await store.close();
    expect(await probes(health)).toEqual([500, 500, 500]);
    expect((await ask(health, '/livez?verbose')).text).toBe(
      '[+]ping ok\n[-]etcd failed: reason withheld\nlivez check failed\n',
    );
  });

  it('that is only away is no reason to restart the server', async () => {
    const away = () => Promise.reject(new StoreError('Unavailable', 'no member answers'));
    const health = new Health();
    addStoreChecks(health, { revision: away, status: away } as unknown as Store, false);
    expect(await probes(health)).toEqual([200, 500, 500]);
  });
});

it('what a start has to do fails every probe until it is done, and has a path of its own', async () => {
  const health = new Health();
  const hooks = new StartHooks(health);
  const path = '/livez/poststarthook/rbac/bootstrap-roles';
  expect((await ask(health, path)).status).toBe(500);
  hooks.done('rbac/bootstrap-roles');
  expect((await ask(health, path)).status).toBe(200);
  expect((await ask(health, '/readyz?verbose')).text).toContain('[-]poststarthook/crd-informer-synced failed');
});
