/**
 * Starts a thread with a script of ours: as it was built, or from its source, for tests. What starts threads of its own may
 * run in one, so sources are made into files for all of them, once in a process, which go with it.
 */
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** The scripts of threads by name: where they lie in `src/server/`. In a bundle all lie beside each other. */
export const SCRIPTS = {
  'server-worker': 'server-worker',
  'etcd-front': 'workers/etcd-front-thread',
  'yaml-worker': 'codec/yaml/yaml-worker',
} as const;

export type ThreadName = keyof typeof SCRIPTS;

let made: URL | undefined;

export function makeThread(name: ThreadName): Worker {
  const here = import.meta.url;
  if (here.endsWith('.ts')) {
    made ??= makeScripts(new URL('../', here));
    return new Worker(new URL(`${name}.js`, made));
  }
  const isBundled = !here.endsWith('/event-loop/make-thread.js');
  return new Worker(new URL(isBundled ? `./${name}.js` : `../${SCRIPTS[name]}.js`, here));
}

/** Where they are; below the sources' own root, so that packages are found from there. */
function makeScripts(server: URL): URL {
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');
  const folder = new URL(`../../dist/threads/${process.pid}/`, server);
  const outdir = fileURLToPath(folder);
  const entryPoints = Object.entries(SCRIPTS).map(([out, path]) => ({
    in: fileURLToPath(new URL(`${path}.ts`, server)),
    out,
  }));
  buildSync({
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'node20',
    platform: 'node',
    packages: 'external',
  });
  process.once('exit', () => rmSync(outdir, { recursive: true, force: true }));
  return folder;
}
