/**
 * Where the executables of `longwatch envtest-assets` begin: `etcd FLAGS`, `kube-apiserver FILE CACHE FLAGS`, or `rehearse
 * FILE CACHE`, which leaves the compiled code in CACHE. FILE is what kube-apiserver.ts and all it needs were made into. What
 * keeps one from running is a sentence and exit code 1.
 */
import { loadProgram } from './code-cache.ts';
import type * as KubeApiServer from './kube-apiserver.ts';

async function run([program, ...given]: readonly string[]): Promise<void> {
  if (program === 'etcd') return (await import('./etcd.ts')).runEtcd(given);
  const [file = '', cacheFile = '', ...flags] = given;
  const { exports: server, keepCode } = loadProgram<typeof KubeApiServer>(file, cacheFile);
  if (program === 'kube-apiserver') return server.runKubeApiServer(flags);
  await server.rehearse(keepCode);
  process.exit();
}

run(process.argv.slice(2)).catch((err: Error) => {
  process.stderr.write(`${process.argv[2]}: ${err.message}\n`);
  process.exit(1);
});
