/**
 * Starts a program of the benchmarks as a process of its own, as it would be built: put together by the bundler as
 * `scripts/bundle.mjs` does it, with the threads of the server beside it, and run by Node alone. From the sources each
 * function is wrapped by the loader of TypeScript, which is up to half of what a request costs.
 *
 * The one place that decides how measured processes run. Always as the sources are now: they are put together once per
 * program and run of the benchmarks, and go with it.
 */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { SCRIPTS } from '../../src/server/event-loop/make-thread.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Below the root, so that packages are found from there; not in dist/, which benchmarks of what is built there make anew. */
const folder = join(root, '.cache', 'bench', String(process.pid));
const built = new Map<string, string>();

export type BuiltOptions = Omit<ForkOptions, 'execArgv'> & { readonly flags?: readonly string[] };

/** It has the memory of this process to collect by hand, and `flags` of Node more. */
export function forkBuilt(script: URL, args: readonly string[] = [], options: BuiltOptions = {}): ChildProcess {
  const { flags = [], ...rest } = options;
  return fork(builtFrom(fileURLToPath(script)), args, { ...rest, execArgv: ['--expose-gc', ...flags] });
}

function builtFrom(script: string): string {
  const known = built.get(script);
  if (known !== undefined) return known;
  if (built.size === 0) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const name = basename(script, '.ts');
  const outdir = join(folder, name);
  buildSync({
    absWorkingDir: root,
    entryPoints: [
      { in: script, out: name },
      // A bundle looks for its threads beside itself.
      ...Object.entries(SCRIPTS).map(([out, path]) => ({ in: join(root, 'src/server', `${path}.ts`), out })),
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
  const file = join(outdir, `${name}.js`);
  built.set(script, file);
  return file;
}
