/**
 * `longwatch proxy`: stands before any API server and breaks things as a file says, for clients in any language. They use
 * the kubeconfig that it writes.
 *
 * Always true: stdout gets one line, when it is ready; each fault is a line on stderr. The same seed and the same requests
 * give the same faults. Without faults it changes nothing.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo, wholeNumber } from '../../cluster/cluster-flags.ts';
import { runVerb, UsageError, type Verb } from '../../terminal/run-verb.ts';
import { parsePort } from '../serve-flags.ts';

export type ProxyFlags = ClusterFlags & {
  readonly to?: string;
  readonly faults?: string;
  readonly seed?: number;
  readonly port: number;
  readonly kubeconfigOut?: string;
};

export function addProxyCommand(program: Command): void {
  const command = program
    .command('proxy')
    .description('stand before any API server and break things as a file says: cuts, stalls, 410s, 429s')
    .option('--to <url>', 'the server (default: the one of the kubeconfig)')
    .option('--faults <file>', 'what to break, in YAML (default: nothing)')
    .addOption(
      new Option('--seed <n>', 'repeats the chances of an earlier run (default: of the file, or any)').argParser(
        wholeNumber,
      ),
    )
    .addOption(
      new Option('--port <port>', 'to listen on, on 127.0.0.1; 0 picks a free one').default(0).argParser(parsePort),
    )
    .option('--kubeconfig-out <file>', 'for the clients (default: one in the temporary folder)')
    .addHelpText(
      'after',
      '\nExamples:\n  longwatch proxy --faults faults.yaml\n  longwatch proxy --to https://127.0.0.1:6443 --faults faults.yaml --seed 7',
    );
  addClusterOptions(command, { hasNamespace: false }).action((flags: ProxyFlags) => runVerb(proxy(flags)));
}

export function proxy(flags: ProxyFlags): Verb {
  return async (io) => {
    if (flags.to !== undefined && !/^https?:\/\//.test(flags.to))
      throw new UsageError(`Cannot reach "${flags.to}": write a URL, for example https://127.0.0.1:6443`);
    const { FaultPlan, readFaults, remoteTarget, startProxyTo } = await import('../../../testing/index.ts');
    const { seed: ofFile, rules } = await readFile(flags.faults, readFaults);
    const seed = flags.seed ?? ofFile ?? randomInt(2 ** 31);
    await using client = await connectTo(flags);
    const out = flags.kubeconfigOut;
    const target = await remoteTarget({
      access: client.transport.access,
      port: flags.port,
      kubeconfigPath: (port) => (out ? resolve(out) : join(tmpdir(), `longwatch-proxy-${port}.kubeconfig`)),
      ...(flags.to !== undefined && { url: flags.to.replace(/\/$/, '') }),
    });
    await using running = await startProxyTo(target);
    const plan = new FaultPlan(rules, seed, { onFault: (line) => io.note(`${new Date().toISOString()} ${line}`) });
    running.plan((request) => plan.decide(request));
    io.print(`longwatch proxy ready ${running.url} kubeconfig=${running.kubeconfigPath} seed=${seed}`);
    await plan.run(running, io.signal);
    await new Promise<void>((done) => {
      if (io.signal.aborted) done();
      else io.signal.addEventListener('abort', () => done(), { once: true });
    });
  };
}

async function readFile<T>(file: string | undefined, read: (document: unknown) => T): Promise<T> {
  if (file === undefined) return read({ faults: [] });
  const { load } = await import('js-yaml');
  try {
    return read(load(readFileSync(file, 'utf8')));
  } catch (err) {
    throw new UsageError(`${(err as Error).message} (in "${file}")`, { cause: err });
  }
}
