/**
 * Puts the modules of dist/ together into a few files, dist/bundle/, one for each door of the package and what they
 * share: loading some hundred small files is most of what an import, and the start of the server, would cost
 * (docs/decisions/0011-bundle.md). Called by the set-up after the compiler; nothing else is changed by it: no
 * minifying, packages stay outside, and what is loaded later stays apart. The page for browsers is the exception: it is one
 * small file with all it needs.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './setup.mjs';

const doors = ['client', 'controller', 'controllers', 'metrics', 'server', 'store', 'testing'];
const outdir = join(root, 'dist', 'bundle');

rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    ...doors.map((door) => ({ in: `dist/${door}/index.js`, out: door })),
    ...['client', 'controller'].map((door) => ({ in: `dist/${door}/advanced.js`, out: `${door}-advanced` })),
    { in: 'dist/client/crd.js', out: 'client-crd' },
    { in: 'dist/cli/main.js', out: 'cli' },
    { in: 'dist/cli/commands/envtest/stand-in.js', out: 'envtest-stand-in' },
    { in: 'dist/server/codec/yaml/yaml-worker.js', out: 'yaml-worker' },
    { in: 'dist/server/server-worker.js', out: 'server-worker' },
  ],
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  logLevel: 'warning',
});

// The page, whole: what it is made of is needed here and nowhere else.
const page = join(outdir, 'page');
await build({
  absWorkingDir: root,
  entryPoints: ['src/page/main.tsx', 'src/page/page.css'].map((file) => ({ in: file, out: 'page' })),
  outdir: page,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});
for (const file of ['index.html', 'icon.svg']) cpSync(join(root, 'src', 'page', file), join(page, file));
