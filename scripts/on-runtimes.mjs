/**
 * `node scripts/on-runtimes.mjs`: runs the built client on Bun and Deno and compares what it does there with Node.
 *
 * They come from npm packages that hold the binary and run no script when they are installed, and are kept in .cache/. On other
 * platforms there is nothing to install: the run says so and passes.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, root, run, say, tool } from './setup.mjs';

const RUNTIMES = [
  ['bun', '@oven/bun-linux-x64-baseline', '1.4.4'],
  ['deno', '@deno/linux-x64-glibc', '2.9.6'],
];

const platform = `${process.platform}-${process.arch}`;
if (platform !== 'linux-x64')
  say(`skipped the tests on Bun and Deno: they are run on linux-x64 only, this is ${platform}`);
else {
  for (const runtime of RUNTIMES) install(...runtime);
  ensureBuilt();
  run(process.execPath, [tool('vitest', 'vitest'), 'run', 'test/e2e/client/client-runtimes.test.ts']);
}

function install(name, packageName, version) {
  const folder = join(root, '.cache', name);
  if (existsSync(join(folder, 'node_modules', packageName))) return;
  say(`installing ${name} ${version} into .cache/${name}`);
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
  run('npm', ['install', '--prefix', folder, ...quiet, `${packageName}@${version}`]);
}
