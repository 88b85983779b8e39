/**
 * `longwatch controllers`: the controllers of a cluster in a process of their own, against any server, until it is told to
 * stop. SIGTERM and SIGINT stop it with exit code 0; everything stays as it is, and the next one goes on from there.
 *
 * stdout gets one line, when they are at work, or stand by because another process leads.
 */
import { type Command, Option } from 'commander';
import { logToStderr } from '../../server/serving/stderr-log.ts';
import { parseBoolean, parseControllers, parseCount } from './serve-flags.ts';

type ControllersFlags = {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly controllers?: string[];
  readonly pretendNodes: number;
  readonly leaderElect: boolean;
  readonly rootCaFile?: string;
};

export function addControllersCommand(program: Command): void {
  program
    .command('controllers')
    .description('run the controllers of a cluster, against any server')
    .option('--kubeconfig <file>', 'how to reach it (default: as kubectl finds it)')
    .option('--context <name>', 'of the kubeconfig (default: its current one)')
    .addOption(
      new Option('--controllers <list>', 'which: *, name, -name (default: what a bare server needs)').argParser(
        parseControllers,
      ),
    )
    .addOption(
      new Option('--pretend-nodes <n>', 'nodes that are only pretended: Pods get scheduled and become Ready')
        .default(0)
        .argParser(parseCount),
    )
    .addOption(
      new Option('--leader-elect <true|false>', 'only one of several processes runs them')
        .default(true)
        .argParser(parseBoolean),
    )
    .option('--root-ca-file <file>', 'for kube-root-ca.crt (default: the authority in the kubeconfig)')
    .addHelpText(
      'after',
      `
Examples:
  longwatch controllers --kubeconfig .longwatch/admin.kubeconfig
  longwatch controllers --controllers='*' --pretend-nodes 2     Deployments make Pods that become Ready`,
    )
    .action((flags: ControllersFlags) => run(flags));
}

async function run(flags: ControllersFlags): Promise<void> {
  const { connect } = await import('../../client/index.ts');
  const { startControllers } = await import('../../controllers/index.ts');
  const { readFile } = await import('node:fs/promises');
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => (stop.signal.aborted ? process.exit(1) : stop.abort()));
  const { controllers, pretendNodes, leaderElect: isElected, kubeconfig, context, rootCaFile } = flags;
  try {
    await using client = await connect({ ...(kubeconfig && { paths: [kubeconfig] }), context });
    const { authority, server } = client.transport.access;
    const authorityPem = rootCaFile
      ? await readFile(rootCaFile, 'utf8')
      : typeof authority === 'string'
        ? authority
        : await authority?.text();
    const onError = (message: string) => logToStderr(`longwatch: ${message}`);
    await using running = startControllers(client, { controllers, pretendNodes, isElected, authorityPem, onError });
    await running.ready(stop.signal);
    process.stdout.write(`longwatch controllers ready ${server.origin} ${running.names.join(',')}\n`);
    await Promise.race([
      running.ended,
      new Promise<void>((resolve) => {
        if (stop.signal.aborted) resolve();
        stop.signal.addEventListener('abort', () => resolve(), { once: true });
      }),
    ]);
  } catch (err) {
    if (!stop.signal.aborted) {
      logToStderr(`longwatch: ${err instanceof Error ? err.message : String(err)}`);
      process.exitCode = 1;
    }
  }
}
