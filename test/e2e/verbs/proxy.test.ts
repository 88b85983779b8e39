/** `longwatch proxy` between a client and a server: what the file says happens, and a client of ours lives through it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { proxy } from '../../../src/cli/commands/proxy/proxy-command.ts';
import { connect, corev1, isApiError, type KubeClient } from '../../../src/client/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { runToEnd, TestIo } from '../../support/cli/test-io.ts';
import { eventually } from '../../support/eventually.ts';
import { HurriedClock } from '../../support/hurried-clock.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-proxy-'));
  server = await startTestServer();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function through(faults: string, work: (client: KubeClient, io: TestIo) => Promise<void>): Promise<void> {
  const file = join(folder, 'faults.yaml');
  writeFileSync(file, faults);
  const kubeconfigOut = join(folder, 'proxy.kubeconfig');
  await using io = new TestIo(proxy({ faults: file, port: 0, kubeconfigOut, kubeconfig: server.kubeconfigPath }));
  await io.until(({ out }) => out.includes('ready'));
  await using client = await connect({ paths: [kubeconfigOut], clock: new HurriedClock(20) });
  await work(client, io);
  expect(await io.interrupt()).toBe(0);
}

it('answers, delays and damages requests as they come', async () => {
  const faults = `
seed: 3
faults:
- { fault: answer, to: list, code: 429, retryAfter: 0s, times: 2 }
- { fault: answer, to: write, code: 422, times: 1 }
- { fault: delay, to: read, delay: 1ms }`;
  await through(faults, async (client, io) => {
    const configMaps = client.resource(corev1.configMaps);
    await expect(configMaps.create({ metadata: { name: 'a' } })).rejects.toSatisfy((err) => isApiError(err));
    await configMaps.create({ metadata: { name: 'a' } });
    expect((await configMaps.list()).items).toHaveLength(1); // our client has asked three times
    await configMaps.get('a');
    const [, ...lines] = [io.out, ...io.err.split('\n').map((line) => line.replace(/^\S+ /, ''))];
    expect(lines.filter((line) => line !== '')).toEqual([
      'answer 422: POST /api/v1/namespaces/default/configmaps',
      'answer 429: GET /api/v1/namespaces/default/configmaps',
      'answer 429: GET /api/v1/namespaces/default/configmaps',
      'delay: GET /api/v1/namespaces/default/configmaps/a',
    ]);
    expect(io.out).toContain(' seed=3\n');
  });
});

it('an informer is right after cuts, garbage, compaction and lost data', async () => {
  const faults = `
seed: 5
faults:
- { fault: cut, to: watch, every: 60ms, times: 3 }
- { fault: garble, to: watch, every: 70ms, times: 3 }
- { fault: compact, every: 150ms, times: 2 }
- { fault: lose, path: /api/v1/namespaces/default/, after: 400ms, for: 100ms }`;
  await through(faults, async (client, io) => {
    await server.reset();
    await using informer = client.informer(corev1.configMaps, { namespace: 'default' });
    const configMaps = server.kube.resource(corev1.configMaps);
    let n = 0;
    const isOver = () => /lose for/.test(io.err) && (io.err.match(/compact:/g) ?? []).length === 2;
    while (!isOver()) await configMaps.create({ metadata: { name: `n${n++}` } }).then(() => sleepTurns());
    await configMaps.delete('n0');
    await eventually(async () => {
      const there = (await configMaps.list()).items.map(({ metadata }) => metadata.name).sort();
      expect(
        informer
          .list()
          .map(({ metadata }) => metadata.name)
          .sort(),
      ).toEqual(there);
    });
  });
});

it('a file that cannot be used is a sentence and exit code 2', async () => {
  const file = join(folder, 'bad.yaml');
  writeFileSync(file, 'faults:\n- { fault: explode }\n');
  const { code, err } = await runToEnd(proxy({ faults: file, port: 0, kubeconfig: server.kubeconfigPath }));
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(
      /^longwatch: Cannot use the faults: faults\[0\]\.fault must be one of .* \(in ".*bad\.yaml"\)\n$/,
    ),
  ]);
});

async function sleepTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}
