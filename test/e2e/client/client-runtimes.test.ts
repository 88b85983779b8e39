/**
 * The client as it is built, on other runtimes than Node: a program of every kind of request does and hears the same there.
 * `node scripts/on-runtimes.mjs` brings the runtimes, for Linux on x64; without it those tests are skipped, but not in CI.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { type KubeletSide, startKubeletSide } from '../../support/client/kubelet-side.ts';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const program = at('test/support/client/runtime-program.mjs');
const doors = ['client', 'client-pods'].map((door) => new URL(`../../../dist/bundle/${door}.js`, import.meta.url).href);
const runtimes: readonly [string, string, readonly string[]][] = [
  ['Bun', at('.cache/bun/node_modules/@oven/bun-linux-x64-baseline/bin/bun'), []],
  ['Deno', at('.cache/deno/node_modules/@deno/linux-x64-glibc/deno'), ['run', '-A', '--no-lock']],
];

let server: TestServer;
let kubelet: KubeletSide;
let onNode: string[];

beforeAll(async () => {
  [server, kubelet] = await Promise.all([startTestServer(), startKubeletSide()]);
  onNode = await linesOf(process.execPath, [], 'on-node');
}, 60_000);
afterAll(async () => {
  await kubelet?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function linesOf(file: string, flags: readonly string[], namespace: string): Promise<string[]> {
  const args = [...flags, program, ...doors, server.kubeconfigPath, kubelet.url, namespace];
  const { stdout } = await promisify(execFile)(file, args, { cwd: at('.'), timeout: 60_000 });
  return stdout.trim().split('\n');
}

it('a program on Node goes through all of it', () => {
  expect(onNode.at(-2)).toBe('["not trusted",["TransportError","connect"]]');
  expect(onNode.at(-1)).toBe('["closed"]');
});

const hasRuntimes = process.env.CI === 'true' && process.platform === 'linux' && process.arch === 'x64';

describe.each(runtimes)('%s', (name, file, flags) => {
  it.runIf(hasRuntimes || existsSync(file))(
    'does and hears the same as Node',
    async () => {
      expect(existsSync(file), `node scripts/on-runtimes.mjs installs ${name}`).toBe(true);
      expect(await linesOf(file, flags, `on-${name.toLowerCase()}`)).toEqual(onNode);
    },
    60_000,
  );
});
