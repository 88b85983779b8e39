/**
 * `npm run fault-schedules -- 10000 --first 1 --processes 2`: so many simulated fault schedules, of the seeds from the
 * first on; 10,000 without a number. `--trace` prints what happened in each, `--bail` ends with the first that fails.
 * What runs is one bundle of the client and of the simulated world, in which HTTP and files are the world's. Ends with 1
 * if one failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureInstalled, root } from './setup.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    first: { type: 'string', default: '1' },
    processes: { type: 'string', default: String(availableParallelism()) },
    bail: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const count = numberIn(positionals[0] ?? '10000');
const first = numberIn(values.first);
const processes = Math.min(numberIn(values.processes), count);

// Whoever ends us ends those that we have started, too.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
ensureInstalled();
const folder = mkdtempSync(join(tmpdir(), 'longwatch-schedules-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const outfile = join(folder, 'schedules.mjs');
await bundle();
const codes = await Promise.all(Array.from({ length: processes }, (_, part) => run(part)));
process.exit(codes.every((code) => code === 0) ? 0 : 1);

/** The parts take turns, so that they end at about the same time. */
async function run(part) {
  const mine = Math.ceil((count - part) / processes);
  const args = [
    first + part,
    mine,
    processes,
    ...['trace', 'bail'].filter((name) => values[name]).map((name) => `--${name}`),
  ].map(String);
  const child = spawn(process.execPath, [outfile, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const stop = () => child.kill('SIGKILL');
  process.on('exit', stop);
  const [code] = await once(child, 'exit');
  process.off('exit', stop);
  return code;
}

async function bundle() {
  const { build } = await import('esbuild');
  const world = (name) => join(root, 'test', 'faults', 'schedules', 'sim', name);
  await build({
    entryPoints: [world('schedules-process.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    alias: { 'undici/index.js': world('sim-undici.ts'), 'node:fs/promises': world('sim-files.ts') },
    external: ['vitest'],
    logLevel: 'warning',
  });
}

function numberIn(word) {
  if (/^[1-9][0-9]*$/.test(word)) return Number(word);
  console.error(`Cannot run fault schedules: "${word}" is no number`);
  return process.exit(2);
}
