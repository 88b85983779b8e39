/**
 * What `npm start` and `npm test` need before they can run: packages of the lock file, and `dist/` built from the sources
 * as they are now. Serving needs a few packages and the bundler; all others are for those who build and test. Each step
 * leaves a stamp of what it was made from and is skipped while that still holds, so a second run goes straight to work.
 * Uses nothing but Node: it must run in a fresh clone.
 */
import '../bin/node-version.cjs';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installStamp = join(root, 'node_modules', '.installed-from');
const serveInstallStamp = join(root, 'node_modules', '.installed-to-serve-from');
const buildStamp = join(root, 'dist', '.built-from');

/** What bundling needs of the packages for development: the bundler, and what the page is made of. */
const BUNDLED = ['esbuild', 'preact', 'uplot'];

/** Installs from the lock file when node_modules is missing or was made from another lock file. */
export function ensureInstalled() {
  const want = hashOf(['package-lock.json']);
  if (readIfThere(installStamp) === want) return;
  say('installing packages from package-lock.json');
  // Not `npm ci`: it refuses a lock file that leaves out an optional build for another platform, and a registry
  // mirror that does not carry one makes npm write just such a file. --no-save keeps the lock file as it is.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(installStamp, want);
}

/**
 * What `npm start` runs, made without a compiler: only what the server needs is installed, unless there is more already.
 */
export function ensureServable() {
  ensureInstalledToServe();
  const folder = join(root, 'dist', 'serve');
  const stamp = join(folder, '.built-from');
  const want = hashOf(['package-lock.json', 'scripts/bundle.mjs', ...filesUnder('src')]);
  if (readIfThere(stamp) !== want) {
    say('building dist/serve/');
    run(process.execPath, [join(root, 'scripts', 'bundle.mjs'), '--to-serve']);
    writeFileSync(stamp, want);
  }
  return join(folder, 'cli.js');
}

function ensureInstalledToServe() {
  if (existsSync(installStamp)) return ensureInstalled(); // somebody builds and tests here: nothing is taken away
  const want = hashOf(['package-lock.json']);
  if (readIfThere(serveInstallStamp) === want) return;
  say('installing what the server needs from package-lock.json');
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // --save-prod with --no-save: the bundler is not left out with the other tools, and nothing is written down.
  const options = ['--no-save', '--omit=dev', '--save-prod', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...options, ...BUNDLED.map((name) => `${name}@${devDependencies[name]}`)]);
  writeFileSync(serveInstallStamp, want);
}

/** What `longwatch` runs. */
export const program = join(root, 'dist', 'bundle', 'cli.js');

/** Builds dist/ when a source file or a compiler setting changed since it was built. */
export function ensureBuilt() {
  ensureInstalled();
  const want = hashOf([
    ...['package-lock.json', 'tsconfig.base.json', 'tsconfig.json', 'scripts/bundle.mjs'],
    ...filesUnder('src'),
  ]);
  if (readIfThere(buildStamp) === want) return;
  say('building dist/');
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  run(process.execPath, [tool('typescript', 'tsc'), '-b']);
  run(process.execPath, [join(root, 'scripts', 'bundle.mjs')]);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(buildStamp, want);
}

/** The path of a package's command, run with this very Node and without a shell in between. */
export function tool(packageName, command) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/** Runs a command in the repository with our own output; a failure ends this process with the same code. */
export function run(command, args, env = {}) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}

export function say(what) {
  console.log(`longwatch: ${what}`);
}

function filesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((name) => !name.endsWith('.test.ts') && !name.endsWith('.tsbuildinfo'))
    .sort();
}

function hashOf(names) {
  const hash = createHash('sha256').update(process.version);
  for (const name of names) hash.update(`\0${name}\0`).update(readFileSync(join(root, name)));
  return hash.digest('hex');
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
