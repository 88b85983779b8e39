/**
 * Puts the modules of dist/ together into a few files, dist/bundle/, one for each door of the package and what they
 * share: loading some hundred small files is most of what an import, and the start of the server, would cost
 * (docs/decisions/0011-bundle.md). Called by the set-up after the compiler; nothing else is changed by it: no
 * minifying, packages stay outside, and what is loaded later stays apart. The page for browsers and the server for envtest are
 * the exceptions: files with all they need, and the licenses of what was copied beside them. Last, a test server is started once and leaves the objects that every cluster begins with
 * beside the bundle: the next ones need not make them.
 *
 * With `--to-serve` only the programs and the page are made, straight from the sources: types are nobody's business there.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  'yaml-worker': 'server/codec/yaml/yaml-worker',
  'server-worker': 'server/server-worker',
  'etcd-front': 'server/workers/etcd-front-thread',
};
const isToServe = process.argv.includes('--to-serve');
const outdir = join(root, 'dist', isToServe ? 'serve' : 'bundle');
const entry = (out, module) => ({ in: isToServe ? `src/${module}.ts` : `dist/${module}.js`, out });

/** Of packages that are copied into a bundle. */
const licenses = new Map();

/** A bundle with packages in it: their licenses go with it. */
async function buildWhole(options) {
  const { metafile } = await build({ ...options, metafile: true });
  for (const input of Object.keys(metafile.inputs)) {
    const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input) ?? [];
    if (!name || licenses.has(name)) continue;
    const file = readdirSync(join(root, folder)).find((found) => /^licen[cs]e/i.test(found));
    if (!file) throw new Error(`Cannot copy "${name}" into a bundle: it has no license`);
    licenses.set(name, `${name}\n\n${readFileSync(join(root, folder, file), 'utf8')}`);
  }
}

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

// What is to start at once is one file of CommonJS each: those can be run with code that was compiled before
// (src/cli/commands/envtest/code-cache.ts). Compiled code goes with one content, so the name tells which.
const urlOf = (name, file) => `const ${name} = require('node:url').pathToFileURL(${file}).href;`;
const url = urlOf('importMetaUrl', '__filename');
// Loading lmdb's own JavaScript from its files would be a tenth of a start. It finds its native part by the place of those files.
// What it could encode objects with, and keep them by, is never used by the store, and left out.
const lmdb = {
  name: 'lmdb',
  setup(build) {
    build.onLoad({ filter: /node_modules[\\/]lmdb[\\/][^\\/]+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', 'lmdbUrl'),
    }));
    build.onResolve({ filter: /^(msgpackr|weak-lru-cache)$/ }, ({ path }) => ({ path, namespace: 'unused' }));
    build.onLoad({ filter: /./, namespace: 'unused' }, () => ({
      contents: 'export class Encoder {} export class WeakLRUCache {}',
    }));
  },
};
await buildProgram(entry('envtest-stand-in', 'cli/commands/envtest/stand-in'), { banner: { js: url } });
await buildProgram(entry('envtest-server', 'cli/commands/envtest/kube-apiserver'), {
  entryNames: '[name]-[hash]',
  banner: {
    js: `(function (exports, require, module, __filename, __dirname) {${url}${urlOf('lmdbUrl', "require.resolve('lmdb')")}`,
  },
  footer: { js: '})' },
  external: ['undici', 'undici/*'], // it is rarely needed
  plugins: [lmdb],
});

function buildProgram(program, options) {
  return buildWhole({
    absWorkingDir: root,
    entryPoints: [program],
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    supported: { 'dynamic-import': false }, // code that was compiled before has nobody to ask for modules
    define: { 'import.meta.url': 'importMetaUrl' },
    minifyWhitespace: true, // it is all there a second time, as modules, to be read
    lineLimit: 120,
    logLevel: 'warning',
    ...options,
  });
}

// The page, whole: what it is made of is needed here and nowhere else.
const page = join(root, 'dist', 'bundle', 'page');
await buildWhole({
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
writeFileSync(join(outdir, 'third-party-licenses.txt'), [...licenses.values()].join('\n'));
for (const file of ['index.html', 'icon.svg']) cpSync(join(root, 'src', 'page', file), join(page, file));

if (!isToServe) {
  const { startTestServer } = await import(pathToFileURL(join(outdir, 'testing.js')).href);
  const server = await startTestServer();
  writeFileSync(join(outdir, 'test-server-image.json'), JSON.stringify(await server.firstObjects()));
  await server[Symbol.asyncDispose]();
}
