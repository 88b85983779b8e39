/**
 * `longwatch kubeconfig`: the administrator's kubeconfig of a server that was started here, printed, or merged into the
 * file that kubectl reads.
 */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { defaultPaths } from '../../../client/config/kube-config.ts';
import { runVerb, type Verb, VerbError } from '../../terminal/run-verb.ts';
import { mergeKubeconfig } from './merge-kubeconfig.ts';

export type KubeconfigFlags = {
  readonly dataDir: string;
  readonly from?: string;
  readonly merge?: boolean | string;
  readonly name: string;
  readonly setCurrent: boolean;
  readonly force?: boolean;
};

export function addKubeconfigCommand(program: Command): void {
  program
    .command('kubeconfig')
    .description("print the administrator's kubeconfig of a server, or merge it into yours")
    .option('--data-dir <dir>', 'of the server', '.longwatch')
    .option('--from <file>', 'this kubeconfig instead: of a server with --kubeconfig-out')
    .option('--merge [file]', 'into this file (default: the first of KUBECONFIG, or ~/.kube/config)')
    .option('--name <name>', 'of cluster, user and context there', 'longwatch')
    .option('--no-set-current', 'leave the current context as it is')
    .option('--force', 'replace what has this name there, though it is of another server')
    .addHelpText(
      'after',
      `
Examples:
  longwatch kubeconfig > admin.kubeconfig
  longwatch kubeconfig --merge                      and then: kubectl get namespaces
  longwatch kubeconfig --merge --name lab --data-dir /srv/lab`,
    )
    .action((flags: KubeconfigFlags) => runVerb(kubeconfig(flags)));
}

export function kubeconfig(flags: KubeconfigFlags): Verb {
  return async (io) => {
    const source = resolve(flags.from ?? join(flags.dataDir, 'admin.kubeconfig'));
    const text = await readFile(source, 'utf8').catch((err: NodeJS.ErrnoException) => {
      throw new VerbError(
        `Cannot read ${JSON.stringify(source)}: ${err.code === 'ENOENT' ? 'there is none' : err.message}`,
        'Start a server with `longwatch serve`, or name its folder with --data-dir or its kubeconfig with --from.',
        { cause: err },
      );
    });
    if (flags.merge === undefined || flags.merge === false) return void io.write(text);
    const target = resolve(typeof flags.merge === 'string' ? flags.merge : defaultPaths(io.env)[0]!);
    const { name, force = false, setCurrent } = flags;
    const { isCurrent } = await mergeKubeconfig({
      text,
      source,
      target,
      name,
      isForced: force,
      setsCurrent: setCurrent,
    });
    io.note(`context "${name}" is in ${target}${isCurrent ? ', and is the current one' : ''}`);
    io.note(isCurrent ? 'Next: kubectl get namespaces' : `Next: kubectl --context ${name} get namespaces`);
  };
}
