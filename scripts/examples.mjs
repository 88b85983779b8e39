/**
 * `npm run examples -- NAME...`: runs the examples, all or the named ones, against one fresh server of ours, each as a
 * process of its own with a minute to end by itself. Fails when one fails.
 *
 * The server keeps little history, and of Secrets none in memory, so that an example which shows what happens when
 * history is gone need not wait five minutes for it. Everything is in a temporary folder that goes with the run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startServer } from './server.mjs';
import { ensureBuilt, root, say } from './setup.mjs';

const TIME_LIMIT_MS = 60_000;
const SERVER_FLAGS = ['--auto-compaction-retention', '12s', '--watch-cache-sizes', 'secrets#0'];
const folder = join(root, 'examples');
const names = process.argv.slice(2);

/** An example is a file of examples/, or a folder with a check.ts. */
const known = readdirSync(folder, { withFileTypes: true })
  .map(({ name }) => (name.endsWith('.ts') ? name.slice(0, -'.ts'.length) : name))
  .filter((name) => programOf(name) !== undefined)
  .sort();
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Cannot run ${unknown.map((name) => `"${name}"`).join(', ')}: there are ${known.join(', ')}`);
  process.exit(2);
}

ensureBuilt();
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort());
process.exitCode = await runAll(names.length > 0 ? names : known);

async function runAll(chosen) {
  const temporary = mkdtempSync(join(tmpdir(), 'longwatch-examples-'));
  // A group of its own: Ctrl-C is for the examples, which clean up on the server before it goes.
  const server = await startServer(join(temporary, 'data'), SERVER_FLAGS, { isDetached: true });
  const results = [];
  try {
    for (const name of chosen) {
      if (stop.signal.aborted) break;
      results.push({ name, ...(await runExample(name, server.kubeconfig)) });
    }
  } finally {
    await server.stop();
    rmSync(temporary, { recursive: true, force: true });
  }
  for (const { name, failure, seconds } of results)
    say(`${failure ? 'failed' : 'passed'} ${name} in ${seconds.toFixed(1)} s${failure ? `: ${failure}` : ''}`);
  const passed = results.filter(({ failure }) => failure === undefined).length;
  say(`${passed} of ${chosen.length} examples pass`);
  return passed === chosen.length ? 0 : 1;
}

/** Shows what it prints, line by line with its name; `failure` says why it does not count as passed. */
async function runExample(name, kubeconfig) {
  say(`running ${name}`);
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', 'tsx', programOf(name)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
    detached: true,
  });
  let isOverdue = false;
  const overdue = setTimeout(() => {
    isOverdue = true;
    kill(child, 'SIGKILL');
  }, TIME_LIMIT_MS);
  const interrupt = () => kill(child, 'SIGINT');
  stop.signal.addEventListener('abort', interrupt);
  const shown = [child.stdout, child.stderr].map(async (stream) => {
    for await (const line of createInterface({ input: stream })) console.log(`${name} | ${line}`);
  });
  const [code, signal] = await once(child, 'exit');
  clearTimeout(overdue);
  kill(child, 'SIGKILL'); // whatever it left behind
  await Promise.all(shown);
  stop.signal.removeEventListener('abort', interrupt);
  const failure = isOverdue
    ? `it took more than ${TIME_LIMIT_MS / 1000} s`
    : code === 0
      ? undefined
      : `it ended with ${code ?? signal}`;
  return { failure, seconds: (performance.now() - startedAt) / 1000 };
}

/** The whole group: an example may have children. */
function kill(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (err) {
    if (err.code !== 'ESRCH') throw err;
  }
}

function programOf(name) {
  return [join(folder, `${name}.ts`), join(folder, name, 'check.ts')].find((path) => existsSync(path));
}
