/**
 * Builds docs/operator-guide.md step by step: packs the package, makes a project in a temporary folder outside of the
 * repository, writes the files that the page shows and runs its commands, in its order. What fails here would fail for a
 * reader. `--keep` leaves the folder.
 *
 * A block that names a file after its language is that file; one in `sh` is run. `npm install` takes the tarball for the
 * package, and our own versions of everything else: those are in npm's cache already.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, root, say } from './setup.mjs';

const LIMIT_TEST_S = 10;
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

ensureBuilt();
const folder = mkdtempSync(join(tmpdir(), 'longwatch-guide-'));
try {
  const [{ filename }] = JSON.parse(shell(`npm pack --json --ignore-scripts --pack-destination ${folder}`, root));
  const tarball = join(folder, filename);
  for (const { head, text } of blocksOf(readFileSync(join(root, 'docs/operator-guide.md'), 'utf8'))) {
    const [language, file] = head.split(' ');
    if (file) writeFileSync(join(folder, file), text);
    else if (language === 'sh') for (const line of text.trim().split('\n')) runStep(line, tarball);
  }
} finally {
  if (process.argv.includes('--keep')) say(`the project is in ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}

function runStep(line, tarball) {
  const begin = performance.now();
  const words = line.split(' ').map((word) => {
    if (word === 'longwatch') return tarball;
    return devDependencies[word] && line.startsWith('npm install') ? `${word}@${devDependencies[word]}` : word;
  });
  const isInstall = line.startsWith('npm install');
  const flags = isInstall ? ' --prefer-offline --no-audit --no-fund --loglevel=error' : '';
  shell(words.join(' ') + flags, folder);
  const seconds = (performance.now() - begin) / 1000;
  say(`${line}: ${seconds.toFixed(1)} s`);
  if (line === 'npm test' && seconds > LIMIT_TEST_S)
    say(`the tests took longer than ${LIMIT_TEST_S} s: is the machine busy?`);
}

function shell(command, cwd) {
  const { status, stdout, stderr } = spawnSync(command, { cwd, shell: true, encoding: 'utf8' });
  if (status === 0) return stdout;
  console.error(`${stdout}${stderr}\nCannot build docs/operator-guide.md: "${command}" ended with ${status}`);
  process.exit(1);
}

function blocksOf(page) {
  return [...page.matchAll(/^```([^\n]+)\n([\s\S]*?)^```$/gm)].map(([, head, text]) => ({ head, text }));
}
