/**
 * `node scripts/conformance.mjs [--update] [RUNNER ARGS]`: plays the recorded scenarios of a real kube-apiserver against
 * this server, as a process of its own, and compares with those that have passed before.
 *
 * The scenarios live beside the repository, in ../shared/conformance; where they are not, there is nothing to play and
 * the run passes. It fails when one fails that is named in test/conformance-passing.txt; one that passes for the first
 * time is told, and `--update` writes the list anew. Runner args choose scenarios (`--scenario 'watch/*'`); without any,
 * all are played, those that need compaction and protobuf too.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './server.mjs';
import { ensureBuilt, root, say } from './setup.mjs';

/** The scenarios about compaction wait for it. */
const SHORT_HISTORY = ['--auto-compaction-retention', '20s'];
const suite = join(root, '..', 'shared', 'conformance');
const listFile = join(root, 'test', 'conformance-passing.txt');
const args = process.argv.slice(2);
const isUpdate = args.includes('--update');
const chosen = args.filter((arg) => arg !== '--update');

if (existsSync(join(suite, 'run.mjs'))) process.exitCode = await main();
else say(`skipped the conformance scenarios: there is no folder ${suite}`);

async function main() {
  ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-conformance-'));
  const server = await startServer(join(folder, 'data'), SHORT_HISTORY);
  try {
    const results = await play(server.kubeconfig, join(folder, 'results.json'), [
      '--jobs',
      '3',
      '--with',
      'all',
      ...chosen,
    ]);
    return judge(await playAgain(server.kubeconfig, join(folder, 'again.json'), results));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(kubeconfig, json, more) {
  const options = ['--kubeconfig', kubeconfig, '--json', json, ...more];
  const runner = spawn(process.execPath, [join(suite, 'run.mjs'), ...options], { stdio: 'inherit' });
  const [code] = await once(runner, 'exit');
  if (!existsSync(json)) throw new Error(`Cannot judge the scenarios: the runner exited with ${code} and told nothing`);
  return JSON.parse(readFileSync(json, 'utf8')).results;
}

/** What passed before and fails now is played once more, alone: some scenarios measure time, and machines are busy. */
async function playAgain(kubeconfig, json, results) {
  const known = knownToPass();
  const broken = results.filter(({ name, ok }) => !ok && known.has(name)).map(({ name }) => name);
  if (broken.length === 0) return results;
  say(`once more, alone: ${broken.join(' ')}`);
  const again = await play(kubeconfig, json, [
    '-v',
    '--with',
    'all',
    ...broken.flatMap((name) => ['--scenario', name]),
  ]);
  return results.map((result) => again.find(({ name }) => name === result.name) ?? result);
}

function knownToPass() {
  return new Set(existsSync(listFile) ? readFileSync(listFile, 'utf8').split('\n').filter(Boolean) : []);
}

/** The exit code: 1 if something failed that has passed before. */
function judge(results) {
  const known = knownToPass();
  const passing = results.filter(({ ok }) => ok).map(({ name }) => name);
  const failing = results.filter(({ ok }) => !ok).map(({ name }) => name);
  const broken = failing.filter((name) => known.has(name));
  const mended = passing.filter((name) => !known.has(name));
  if (mended.length > 0) say(`pass for the first time: ${mended.join(' ')}`);
  if (isUpdate) {
    // What was not played keeps its place.
    const all = [...known, ...passing].filter((name) => !failing.includes(name));
    writeFileSync(
      listFile,
      [...new Set(all)]
        .sort()
        .map((name) => `${name}\n`)
        .join(''),
    );
    say(`${listFile} is up to date`);
    return 0;
  }
  if (broken.length > 0) say(`passed before and fail now: ${broken.join(' ')}`);
  say(`conformance: ${passing.length} of ${results.length} pass, ${broken.length} of ${known.size} known ones broken`);
  return broken.length > 0 ? 1 : 0;
}
