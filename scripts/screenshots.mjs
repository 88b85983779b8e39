/**
 * `node scripts/screenshots.mjs`: the pictures of docs/dashboard.md, of a real server that real clients watch, taken by the Chromium on the
 * PATH; with names of pictures behind it only those. One of the watchers is stopped, one asks for history that is gone, an object is changed a few times; then a picture of each view.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { ensureBuilt, program, root, say } from './setup.mjs';

/** Those that need a load come first: it ends before the others. */
const BUSY = ['Chain', 'Plots', 'Watches', '410s', 'Flow control'];
const QUIET = ['History', 'Stream'];
const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
const folder = join(root, 'docs', 'pictures');
const home = mkdtempSync(join(tmpdir(), 'longwatch-pictures-'));
const running = [];

ensureBuilt();
try {
  await takeAll();
} finally {
  for (const child of running) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
}

async function takeAll() {
  const kubeconfig = join(home, 'kubeconfig');
  const flags = ['--secure-port', '0', '--data-dir', join(home, 'data'), '--kubeconfig-out', kubeconfig];
  const more = ['--pretend-nodes', '2', '--auto-compaction-mode', 'periodic'];
  await said(start('serve', ...flags, ...more, '--auto-compaction-retention', '20s'), /longwatch ready/);
  const on = ['--kubeconfig', kubeconfig];
  const { connect, appsv1, mergePatch } = await import('longwatch/client');
  const client = await connect({ paths: [kubeconfig] });
  const deployments = client.resource(appsv1.deployments);
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
  const spec = { replicas: 3, selector: { matchLabels: labels }, template };
  await deployments.create({ metadata: { name: 'web', labels }, spec });
  for (const image of ['web:2', 'web:3'])
    await deployments.patch(
      'web',
      mergePatch({ spec: { template: { spec: { containers: [{ name: 'web', image }] } } } }),
    );
  for (const kind of ['pods', 'deployments', 'nodes']) start('watch', kind, '-A', '-o', 'name', ...on);
  const browser = await chromium.launch({ executablePath: which(), args: ['--no-sandbox'] });
  const context = await browser.newContext({ viewport: { width: 1100, height: 680 }, colorScheme: 'light' });
  const page = await context.newPage();
  const [link] = await said(start('dashboard', ...on), /http:\/\/\S+/);
  await page.goto(link);
  const view = (name) => page.getByRole('link', { name, exact: true }).click();
  if (BUSY.some(isWanted)) await takeBusy(page, view, on, client);
  for (const name of QUIET.filter(isWanted)) {
    await view(name);
    if (name === 'History') await fill(page, { Kind: 'deploy', Name: 'web' }, 'Show', '.diff li');
    else {
      await fill(page, { Kind: 'deployments.apps' }, 'Follow', 'caption:has-text("objects followed")');
      for (let replicas = 1; replicas < 9; replicas++)
        await deployments.patch('web', mergePatch({ spec: { replicas } }));
      await page.locator('tbody tr:nth-child(8)').waitFor();
    }
    await take(page, name);
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  await view('Chain');
  await page.locator('svg.chain').waitFor();
  if (isWanted('chain-dark')) await take(page, 'chain-dark');
  await page.setViewportSize({ width: 390, height: 680 });
  await view('Watches');
  await page.locator('tbody tr').first().waitFor();
  if (isWanted('phone')) await take(page, 'phone');
  if (isWanted('operator')) await takeOperator(browser, client, deployments, { appsv1, mergePatch });
  await browser.close();
  await client.close();
}

async function takeBusy(page, view, on, client) {
  const slow = start('watch', 'configmaps', '-A', '-o', 'json', ...on);
  await said(slow, /ADDED/);
  slow.kill('SIGSTOP');
  const load = ['--rate', '40', '--watchers', '6', '--count', '60000', '--size', '200000', '--duration', '10m'];
  const stress = start('stress', ...load, ...on);
  await view('Watches');
  const behind = page.locator('tbody tr').filter({ hasText: /Behind|FromLog/ });
  await behind.first().waitFor({ timeout: 120_000 });
  const old = { watch: 'true', resourceVersion: '5' };
  await client.transport.request('GET', '/api/v1/configmaps', { query: old }).catch(() => {}); // 410, once it is compacted
  await new Promise((resolve) => setTimeout(resolve, 10_000)); // something to be seen in the plots
  for (const name of BUSY.filter(isWanted)) {
    await view(name);
    await page.waitForTimeout(1500);
    await take(page, name, name === 'Chain');
  }
  stress.kill('SIGKILL');
  slow.kill('SIGKILL');
}

async function takeOperator(browser, client, deployments, { appsv1, mergePatch }) {
  const { dashboardHandler, defineController, Manager } = await import('longwatch/controller');
  const manager = new Manager({ client, logger: false, election: { name: 'webs', identity: 'webs-0' } });
  let seen = 0;
  const reconcile = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (++seen % 4 === 0) throw new Error('the registry does not answer');
  };
  manager.add(defineController({ name: 'webs', for: appsv1.deployments, reconcile }));
  manager.add(defineController({ name: 'sets', for: appsv1.replicaSets, reconcile: async () => {} }));
  manager.start();
  await manager.ready();
  const server = createServer(dashboardHandler(manager, { name: 'web operator' })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const page = await browser.newPage({ viewport: { width: 1100, height: 480 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/#/reconciles`);
  for (let replicas = 1; replicas < 9; replicas++) {
    await deployments.patch('web', mergePatch({ spec: { replicas } }));
    await page.locator(`tbody tr:nth-child(${replicas})`).waitFor();
  }
  await take(page, 'operator');
  await page.close();
  server.close();
  server.closeAllConnections();
  await manager.stop();
}

async function fill(page, fields, button, shown) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name: button }).click();
  await page.locator(shown).first().waitFor({ timeout: 60_000 });
}

async function take(page, name, fullPage = false) {
  const path = join(folder, `${name.toLowerCase().replace(' ', '-')}.png`);
  await page.screenshot({ path, fullPage });
  say(`${path.slice(root.length + 1)}: ${Math.round(readFileSync(path).length / 1024)} KiB`);
}

function start(...args) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.setEncoding('utf8');
  running.push(child);
  return child;
}

/** What it has said on stdout, when that fits. */
async function said(child, pattern) {
  let text = '';
  for (;;) {
    const found = pattern.exec(text);
    if (found) {
      child.stdout.resume();
      return found;
    }
    const [more] = await once(child.stdout, 'data');
    text += more;
  }
}

function which() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (process.env.PATH ?? '').split(':');
  const all = folders.flatMap((one) => names.map((name) => join(one, name)));
  const found = all.find((path) => {
    try {
      readFileSync(path);
      return true;
    } catch {
      return false;
    }
  });
  if (!found) throw new Error('Cannot take pictures: there is no Chromium on the PATH');
  return found;
}
