/**
 * Puts the modules of dist/ together into a few files, dist/bundle/, one for each door of the package and what they
 * share: loading some hundred small files is most of what an import, and the start of the server, would cost
 * (docs/decisions/0011-bundle.md). Called by the set-up after the compiler; nothing else is changed by it: no
 * minifying, packages stay outside, and what is loaded later stays apart. The page for browsers is the exception: it is one
 * small file with all it needs. Last, a test server is started once and leaves the objects that every cluster begins with
 * beside the bundle: the next ones need not make them.
 *
 * With `--to-serve` only the programs and the page are made, straight from the sources: types are nobody's business there.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from './setup.mjs';

/** What is imported, each as package.json exports it. */
const layers = ['client', 'controller', 'controllers', 'metrics', 'server', 'store', 'testing'];
const doors = {
  ...Object.fromEntries(layers.map((layer) => [layer, `${layer}/index`])),
  'client-advanced': 'client/advanced',
  'client-apply': 'client/apply',
  'client-crd': 'client/crd',
  'client-pods': 'client/pods',
  'controller-advanced': 'controller/advanced',
};
/** What is run, and not imported. */
const programs = {
  cli: 'cli/main',
  'envtest-stand-in': 'cli/commands/envtest/stand-in',
  'yaml-worker': 'server/codec/yaml/yaml-worker',
  'server-worker': 'server/server-worker',
  'etcd-front': 'server/workers/etcd-front-thread',
};
const isToServe = process.argv.includes('--to-serve');
const outdir = join(root, 'dist', isToServe ? 'serve' : 'bundle');
const entry = (out, module) => ({ in: isToServe ? `src/${module}.ts` : `dist/${module}.js`, out });

rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    ...(isToServe ? [] : Object.entries(doors).map(([out, module]) => entry(out, module))),
    ...Object.entries(programs).map(([out, module]) => entry(out, module)),
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
const page = join(root, 'dist', 'bundle', 'page');
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

if (!isToServe) {
  const { startTestServer } = await import(pathToFileURL(join(outdir, 'testing.js')).href);
  const server = await startTestServer();
  writeFileSync(join(outdir, 'test-server-image.json'), JSON.stringify(await server.firstObjects()));
  await server[Symbol.asyncDispose]();
}
