/**
 * Where the executables of `longwatch envtest-assets` begin: which of them, then its flags. What keeps one from running is
 * a sentence and exit code 1.
 */
import * as module from 'node:module';

// Where Node can (22 and newer), compiled code is kept for the next start: there are many.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();

const [program, ...flags] = process.argv.slice(2);
try {
  if (program === 'etcd') await (await import('./etcd.ts')).runEtcd(flags);
  else await (await import('./kube-apiserver.ts')).runKubeApiServer(flags);
} catch (err) {
  process.stderr.write(`${program}: ${(err as Error).message}\n`);
  process.exit(1);
}
