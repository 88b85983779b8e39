/**
 * Plays a suite of `recorded/`, what a real kube-apiserver answered, against a server of ours in a process of its own, and
 * keeps the list beside it of what is known to pass or to fail.
 *
 * The runner of a suite writes its results to a file; one that ends without writing it has judged nothing, and that is a
 * failure. Server and temporary folder go whatever happens.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './server.mjs';
import { ensureBuilt, root, say } from './setup.mjs';

export const recorded = join(root, 'recorded');

/** `use(play)` with a server of these flags; `play(runnerArgs)` resolves with what the runner of the suite found. */
export async function withSuite(suite, { serverFlags = [], runnerOutput = 'inherit' }, use) {
  ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), `longwatch-${suite}-`));
  // What was recorded has no group of ours in it.
  const server = await startServer(join(folder, 'data'), ['--introspection=false', ...serverFlags]);
  const json = join(folder, 'results.json');
  const play = async (runnerArgs) => {
    rmSync(json, { force: true });
    const args = [join(recorded, suite, 'run.mjs'), '--kubeconfig', server.kubeconfig, '--json', json, ...runnerArgs];
    const runner = spawn(process.execPath, args, { stdio: ['ignore', runnerOutput, 'inherit'] });
    const [code] = await once(runner, 'exit');
    if (!existsSync(json)) throw new Error(`Cannot judge ${suite}: the runner exited with ${code} and told nothing`);
    return JSON.parse(readFileSync(json, 'utf8'));
  };
  try {
    return await use(play);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `--update` writes the list of known results anew; everything else is for the runner. */
export function suiteArgs() {
  const args = process.argv.slice(2);
  return { isUpdate: args.includes('--update'), runnerArgs: args.filter((arg) => arg !== '--update') };
}

/** Names, one to a line, in `recorded/FILE`. */
export function readList(file) {
  return new Set(readFileSync(join(recorded, file), 'utf8').split('\n').filter(Boolean));
}

export function writeList(file, names) {
  const lines = [...new Set(names)].sort().map((name) => `${name}\n`);
  writeFileSync(join(recorded, file), lines.join(''));
  say(`recorded/${file} is up to date`);
}
