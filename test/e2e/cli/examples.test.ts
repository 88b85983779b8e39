/** Examples as people run them: as processes of their own that read KUBECONFIG, and that are stopped with Ctrl-C. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function start(program: readonly string[], kubeconfig: string): ChildProcess {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return spawn(process.execPath, program, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** All it has printed once that fits, or once it has ended. */
async function printed(child: ChildProcess, pattern?: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => {
        text += chunk;
        if (pattern?.test(text)) resolve(text);
      });
    child.once('close', () => resolve(text));
  });
}

it('an example that is stopped in the middle cleans up, says so, and does not count as passed', async () => {
  await using server = await startTestServer();
  const example = start(['--import', 'tsx', 'examples/raw-watch.ts'], server.kubeconfigPath);
  expect(await printed(example, /ADDED lamp-1/)).toMatch(/ADDED lamp-1/);
  const rest = printed(example);
  example.kill('SIGINT');
  expect(await once(example, 'exit')).toEqual([130, null]);
  expect(await rest).toMatch(/stopped\n$/);
  const { items } = await server.client.list('/api/v1/namespaces', { labelSelector: 'example=raw-watch' });
  expect(items.map(({ status }) => (status as { phase?: string }).phase)).toEqual(['Terminating']);
});

it('the mini control plane runs until it is stopped, and ends well', async () => {
  await using server = await startTestServer();
  const plane = start(['--import', 'tsx', 'examples/mini-control-plane/main.ts'], server.kubeconfigPath);
  expect(await printed(plane, /ready/)).toMatch(/^ready: 3 pretend nodes/m);
  const rest = printed(plane);
  plane.kill('SIGINT');
  expect(await once(plane, 'exit')).toEqual([0, null]);
  expect(await rest).toMatch(/^stopping.*$/m);
});

it('an example that is not there is refused by a message that names those that are', async () => {
  const runner = start(['scripts/examples.mjs', 'raw-watch', 'cooked-watch'], '');
  const text = await printed(runner);
  expect(text).toMatch(/^Cannot run "cooked-watch": there are bookmarks, .*mini-control-plane.*raw-watch/);
  expect(runner.exitCode).toBe(2);
});
