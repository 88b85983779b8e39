/**
 * `node scripts/fields.mjs [--update] [RUNNER ARGS]`: plays the field corpus, thousands of objects with one field changed
 * as a real kube-apiserver answered them, against this server, and compares with what has passed before.
 *
 * The corpus lives beside the repository, in ../shared/fields; where it is not, there is nothing to play and the run
 * passes. It fails when a case fails that is not named in test/fields-failing.txt; one of those that passes is told, and
 * `--update` writes the list anew. Runner args choose cases (`--only '^core_Pod '`).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './server.mjs';
import { ensureBuilt, root, say } from './setup.mjs';

const suite = join(root, '..', 'shared', 'fields');
const listFile = join(root, 'test', 'fields-failing.txt');
const args = process.argv.slice(2);
const isUpdate = args.includes('--update');
const chosen = args.filter((arg) => arg !== '--update');

if (existsSync(join(suite, 'run.mjs'))) process.exitCode = await main();
else say(`skipped the field corpus: there is no folder ${suite}`);

async function main() {
  ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-fields-'));
  const server = await startServer(join(folder, 'data'), []);
  try {
    return judge(await play(server.kubeconfig, join(folder, 'results.json')));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(kubeconfig, json) {
  const options = ['--kubeconfig', kubeconfig, '--json', json, '--groups', '0', ...chosen];
  const runner = spawn(process.execPath, [join(suite, 'run.mjs'), ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(runner, 'exit');
  if (!existsSync(json)) throw new Error(`Cannot judge the fields: the runner exited with ${code} and told nothing`);
  return JSON.parse(readFileSync(json, 'utf8'));
}

/** The exit code: 1 if something failed that has passed before. */
function judge({ passed, failed, failures }) {
  const known = new Set(existsSync(listFile) ? readFileSync(listFile, 'utf8').split('\n').filter(Boolean) : []);
  const failing = failures.map(({ id }) => id);
  if (isUpdate) {
    writeFileSync(
      listFile,
      failing
        .sort()
        .map((id) => `${id}\n`)
        .join(''),
    );
    say(`${listFile} is up to date`);
    return 0;
  }
  const broken = failures.filter(({ id }) => !known.has(id));
  for (const { id, differences } of broken) say(`passed before and fails now: ${id}: ${differences[0]?.text ?? ''}`);
  say(`fields: ${passed} of ${passed + failed} pass, ${broken.length} broken, ${known.size} known to fail`);
  return broken.length > 0 ? 1 : 0;
}
