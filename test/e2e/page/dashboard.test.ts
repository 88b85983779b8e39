/**
 * `longwatch dashboard` as built, in a real Chromium, against a real server that a real kubectl watches: what each view shows of
 * it, and that nobody but the page gets anything.
 */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDashboard } from '../../../src/cli/commands/dashboard/dashboard-server.ts';
import { corev1 } from '../../../src/client/index.ts';
import { dashboardHandler, defineController, Manager } from '../../../src/controller/index.ts';
import { credentialsOf, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';
import { fast } from '../../support/client/controller-under-test.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { Kubectl, kubectls } from '../cli/kubectl.ts';
import { ServeCommand } from '../cli/serve-command.ts';
import { expectText, findChromium, openPage, PATIENCE_MS, startChromium } from './chromium.ts';

const chromium = findChromium();
const kubectlPath = kubectls()[0]?.path;
const path = '/api/v1/namespaces/default/configmaps';

let server: TestServer;
let command: ServeCommand;
let port: number;
beforeAll(async () => {
  server = await startTestServer({ introspection: true });
  command = new ServeCommand(['dashboard', '--kubeconfig', server.kubeconfigPath]);
  const first = await takeLink();
  port = Number(new URL(first).port);
  taken.delete(first);
}, PATIENCE_MS);
afterAll(async () => {
  await command[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const taken = new Set<string>();
/** One that nobody has had yet. */
async function takeLink(): Promise<string> {
  const links = () => (command.out + command.err).match(/http:\/\/127\.0\.0\.1:\d+\/\?key=[\w-]+(?=\n)/g) ?? [];
  const fresh = () => links().find((link) => !taken.has(link));
  await command.until(() => fresh() !== undefined);
  const link = fresh()!;
  taken.add(link);
  return link;
}

describe('whoever is not the page gets nothing:', () => {
  type Said = { code: number; text: string; headers: IncomingHttpHeaders };
  const ask = (target: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<Said>((resolve, reject) => {
      const sent = httpRequest({ host: '127.0.0.1', port, path: target, method, headers }, (answer) => {
        let text = '';
        answer.on('data', (part) => {
          text += part;
        });
        answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text, headers: answer.headers }));
      });
      sent.on('error', reject);
      sent.end();
    });
  const reads = ['/', '/page.js', '/page.json', '/k8s/version', '/k8s/api/v1/configmaps'];
  /** A session as a browser has it. */
  async function session(): Promise<{ cookie: string; 'x-longwatch-page': string }> {
    const link = await takeLink();
    const { headers } = await ask(link.slice(link.indexOf('/?')));
    const [, page = ''] = /#page=([\w-]+)$/.exec(headers.location ?? '') ?? [];
    return { cookie: headers['set-cookie']![0]!.split(';')[0]!, 'x-longwatch-page': page };
  }

  it('without a key, with another, or with one that was used', async () => {
    for (const target of [...reads, `/?key=${'x'.repeat(43)}`, '/?key=', '/?key=%00'])
      expect(await ask(target), target).toMatchObject({ code: 401, text: expect.stringContaining('good once') });
    const link = await takeLink();
    const used = link.slice(link.indexOf('/?'));
    const first = await ask(used);
    expect(first).toMatchObject({ code: 303, headers: { location: expect.stringMatching(/^\/#page=[\w-]{43}$/) } });
    expect(first.headers['set-cookie']![0]).toMatch(
      new RegExp(`^longwatch-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    expect((await ask(used)).code).toBe(401);
  });

  it('under another name (DNS rebinding), with a good session too', async () => {
    const good = await session();
    expect((await ask('/k8s/version', good)).code).toBe(200);
    for (const host of [
      `evil.example:${port}`,
      'evil.example',
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      `0.0.0.0:${port}`,
    ])
      for (const target of reads)
        expect(await ask(target, { ...good, host }), host).toMatchObject({ code: 403, text: /not ours/ });
    const link = await takeLink();
    const key = link.slice(link.indexOf('/?'));
    expect((await ask(key, { host: `evil.example:${port}` })).code).toBe(403);
    expect((await ask(key)).code).toBe(303); // it was not used up by that
  });

  it('from a page of another site (CSRF), with a good session too', async () => {
    const good = await session();
    const others = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${port + 1}` },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    ];
    for (const from of others)
      for (const target of reads.slice(1)) expect((await ask(target, { ...good, ...from })).code).toBe(403);
  });

  it('with half of a session: a cookie goes to every port, also to somebody else’s', async () => {
    const { cookie, ...page } = await session();
    const another = await session();
    for (const target of reads.slice(2)) {
      expect((await ask(target, { cookie })).code).toBe(401);
      expect((await ask(target, page)).code).toBe(401);
      expect((await ask(target, { ...another, cookie })).code).toBe(401);
    }
    expect((await ask('/page.js', { cookie })).code).toBe(200); // holds nothing
  });

  it('by writing, or for what the page does not show', async () => {
    const good = await session();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect((await ask('/k8s/api/v1/namespaces', good, method)).code).toBe(405);
    for (const target of ['/k8s/api/v1/secrets', '/k8s/api/v1/namespaces/default/pods/a/log', '/k8s/logs', '/k8s//x'])
      expect((await ask(target, good)).code).toBe(403);
    expect((await ask('/../package.json', good)).code).toBe(403);
  });

  it('every answer says that the page loads and asks nothing else, and is kept by nobody', async () => {
    const good = await session();
    for (const { headers } of [await ask('/'), await ask('/', good), await ask('/k8s/version', good)]) {
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });
});

if (chromium === undefined || kubectlPath === undefined)
  it.skip('the page in Chromium (skipped: there is no Chromium or no kubectl)', () => {});
else
  describe('the page in Chromium', { timeout: 2 * PATIENCE_MS }, () => {
    let browser: Browser;
    let page: Page;
    let faults: string[];
    beforeAll(async () => {
      browser = await startChromium(chromium);
      ({ page, faults } = await openPage(browser));
      await page.goto(await takeLink());
    }, PATIENCE_MS);
    afterAll(() => browser.close());
    /** The view before has fields of the same names: until the new one is there, they would be filled in. */
    const view = async (name: string) => {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true, level: 2 }).waitFor();
    };

    it('shows a watch of kubectl, its lag while it is stopped, the diff of an update, and the 410 after a compaction', async () => {
      await using home = await temporaryDir();
      const kubectl = new Kubectl(kubectlPath, server.kubeconfigPath, home.path);
      await kubectl.run('create', 'configmap', 'lamp', '--from-literal=colour=red');
      await using watching = kubectl.start('get', 'configmaps', '-w', '-o', 'json');
      await watching.until(/"lamp"/);

      await expectText(page, '.chain [data-client="kubectl"]', /kubernetes-admin: 1 watches, Live/);
      await view('Watches');
      await expectText(page, 'tr[data-row^="configmaps-"]', /Live.*kubectl/);

      await view('Stream');
      await page.getByLabel('Kind').fill('configmaps');
      await page.getByRole('button', { name: 'Follow' }).click();
      await expectText(page, 'caption', /0 events, [1-9]\d* objects followed/);
      await kubectl.run('patch', 'configmap', 'lamp', '-p', '{"data":{"colour":"green"}}');
      await expectText(page, 'tbody tr', /MODIFIED.*default\/lamp.*kubectl-patch.*~ data\.colour: "red" -> "green"/);

      await view('History');
      await page.getByLabel('Kind').fill('cm');
      await page.getByLabel('Name', { exact: true }).fill('lamp');
      await page.getByRole('button', { name: 'Show' }).click();
      await expectText(page, '.diff li', /^data\.colour"red""green"$/);
      await page
        .getByRole('radio', { name: /^to revision/ })
        .last()
        .check();
      await expectText(page, '.diff', /No difference/); // the first with itself

      watching.signal('SIGSTOP');
      await view('Watches');
      // Until what lies in between, the kernel's buffers, is full.
      let written = 0;
      const write = () => server.client.patch(`${path}/lamp`, { data: { big: `${written++}`.padEnd(900_000, 'x') } });
      await eventually(async () => {
        await write();
        const rows = await page.locator('tr[data-row^="configmaps-"]').allTextContents();
        expect(rows).toContainEqual(expect.stringMatching(/(Behind|FromLog)[1-9]/));
      }, PATIENCE_MS);
      await view('Chain');
      await expectText(page, '.chain [data-client="kubectl"]', /1 watches, (Behind|FromLog)/);
      await page.locator('.band .place.behind, .band .place.fromlog').first().waitFor();
      watching.signal('SIGCONT');
      await expectText(page, '.chain [data-client="kubectl"]', /1 watches, Live/);

      await server.expireHistory();
      const { body } = await server.client.ask('GET', path, { query: { watch: '1', resourceVersion: '1' } });
      expect(body.toString()).toContain('"code":410');
      await view('410s');
      await expectText(page, 'tbody tr', /kubernetes-admin.*watch.*configmaps.*1.*Compaction.*compacted/);

      await view('Plots');
      await expectText(page, 'figure', /^Rates/);
      await eventually(async () => expect(await page.locator('figure canvas').count()).toBe(6), PATIENCE_MS);
      await view('Flow control');
      await expectText(page, 'tbody tr', /^workload-low/);
      expect(faults).toEqual([]);
    });

    it('is led by keys, and named for those who do not see it', async () => {
      await page.keyboard.press('3');
      await page.getByRole('heading', { name: 'Watches', level: 2 }).waitFor();
      await page.keyboard.press('/');
      await eventually(
        async () => expect(await page.evaluate('document.activeElement.type')).toBe('search'),
        PATIENCE_MS,
      );
      await page.keyboard.type('nothing-like-it');
      await expectText(page, 'caption', /^0 of /);
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('1');
      await page.getByRole('img', { name: /^The store at revision \d+/ }).waitFor();
      await eventually(async () => expect(await page.title()).toMatch(/^Chain · /), PATIENCE_MS);
      expect(faults).toEqual([]);
    });

    it('fits a phone, light and dark', async () => {
      await page.setViewportSize({ width: 360, height: 640 });
      const papers: unknown[] = [];
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        papers.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
        for (const name of ['Chain', 'Plots', 'Watches', '410s', 'History', 'Stream', 'Flow control']) {
          await view(name);
          expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(360);
        }
      }
      expect(papers[0]).not.toBe(papers[1]);
      expect(faults).toEqual([]);
    });

    it('is served by the server, too, to whoever signs in', async () => {
      const { token } = credentialsOf(server.dataDir, server.kubeconfigPath);
      const ui = await openPage(browser);
      await ui.page.goto(`${server.url}/ui`);
      const field = ui.page.getByLabel('Token');
      await field.fill('wrong');
      await ui.page.getByRole('button', { name: 'Sign in' }).click();
      await expectText(ui.page, '[role=alert]', /Unauthorized/);
      await field.fill(token);
      await ui.page.getByRole('button', { name: 'Sign in' }).click();
      await expectText(ui.page, '.chain title', /^The store at revision [1-9]/);
      await ui.page.reload();
      await ui.page.getByRole('link', { name: 'Flow control' }).click();
      await expectText(ui.page, 'tbody tr', /^workload-low/);
      expect(ui.faults).toEqual([]);
      await ui.page.context().close();
    });

    it('says of a cluster that does not tell what only our server knows, and shows what it can', async () => {
      await using foreign = await startTestServer();
      await using client = await adminOf(foreign);
      await using dashboard = await startDashboard({ client, port: 0, name: 'foreign', onLink: () => {} });
      const other = await openPage(browser);
      await other.page.goto(dashboard.link);
      await expectText(other.page, 'main', /does not tell what goes on between its store and its clients/);
      await other.page.getByRole('link', { name: 'Plots' }).click();
      await expectText(other.page, 'figure', /^Requests/);
      expect(other.faults).toEqual([]);
      await other.page.context().close();
    });

    it("shows an operator's inside: informers, queues, reconciles with causes and failures, who leads", async () => {
      await using client = await adminOf(server);
      const election = { name: 'lamps', identity: 'me', leaseDurationMs: 600_000, renewDeadlineMs: 500_000 };
      await using manager = new Manager({ client, ...fast, election });
      manager.add(
        defineController({
          name: 'lamps',
          for: corev1.configMaps,
          queue: { retries: { baseDelayMs: 3_600_000, maxDelayMs: 3_600_000 } },
          reconcile(map) {
            if (map?.metadata.name === 'broken') throw new Error('the lamp is broken');
          },
        }),
      );
      manager.start();
      await server.client.create(path, { metadata: { name: 'broken' } });
      await using inside = createServer(dashboardHandler(manager, { name: 'lamp operator', path: '/debug' }));
      inside.listen(0, '127.0.0.1');
      await once(inside, 'listening');
      const url = `http://127.0.0.1:${(inside.address() as AddressInfo).port}`;
      const operator = await openPage(browser);
      await operator.page.goto(`${url}/debug`);
      await expectText(operator.page, 'h1', /lamp operator ready, leads .*lamps, term \d/);
      await expectText(operator.page, 'tbody tr', /^configmaps.*current.*lamps/);
      await operator.page.getByRole('link', { name: 'Queues' }).click();
      await expectText(operator.page, 'tbody tr', /^lampsrunning0/);
      await operator.page.getByRole('link', { name: 'Reconciles' }).click();
      await operator.page.getByLabel('failed only').check();
      await expectText(operator.page, 'tbody tr', /lamps.*default\/broken.*error.*1.*the lamp is broken/);
      expect(operator.faults).toEqual([]);
      await operator.page.context().close();

      const code = async (headers: Record<string, string>, method = 'GET') =>
        new Promise((resolve) => {
          httpRequest(`${url}/debug/operator.json`, { headers, method }, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          }).end();
        });
      expect(await code({})).toBe(200);
      expect(await code({ host: 'localhost:8082' })).toBe(200);
      expect(await code({ host: 'evil.example' })).toBe(403);
      expect(await code({ origin: 'http://evil.example' })).toBe(403);
      expect(await code({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(403);
      expect(await code({}, 'POST')).toBe(405);
    });

    it('a page of another origin reads nothing of it, though the browser has the cookie', async () => {
      await using other = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>');
      }).listen(0, '127.0.0.1');
      await once(other, 'listening');
      const another = await page.context().newPage();
      await another.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
      for (const how of ["{credentials:'include'}", "{credentials:'include',mode:'no-cors'}"])
        expect(
          await another.evaluate(
            `fetch('http://127.0.0.1:${port}/k8s/version', ${how}).then((r) => r.type + r.status, () => 'refused')`,
          ),
        ).toBe('refused');
      await another.close();
    });
  });

it('the page is small: under 100 KB, compressed, with all it loads', () => {
  const folder = new URL('../../../dist/bundle/page/', import.meta.url);
  const sizes = readdirSync(folder).map((name) => gzipSync(readFileSync(new URL(name, folder))).length);
  expect(sizes.length).toBe(4);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(100_000);
});
