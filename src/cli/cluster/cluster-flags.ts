/** Which cluster a verb speaks to, as kubectl's flags say it, and the client for it. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ConnectOptions, KubeClient } from '../../client/index.ts';

export type ClusterFlags = {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly v?: number;
};

export function addClusterOptions(
  command: Command,
  { hasNamespace }: { hasNamespace: boolean } = { hasNamespace: true },
): Command {
  command
    .option('--kubeconfig <file>', 'how to reach the cluster (default: as kubectl finds it)')
    .option('--context <name>', 'of the kubeconfig (default: its current one)');
  if (hasNamespace) command.option('-n, --namespace <name>', "instead of the context's own");
  return command.addOption(
    new Option('--v <n>', 'what to say of requests: 6 each one, 7 and 8 more').argParser(wholeNumber),
  );
}

export async function connectTo(flags: ClusterFlags, options: ConnectOptions = {}): Promise<KubeClient> {
  const { connect, consoleLogger } = await import('../../client/index.ts');
  const { kubeconfig, context, namespace, v } = flags;
  return connect({
    userAgent: 'longwatch-cli',
    ...(kubeconfig !== undefined && { paths: [kubeconfig] }),
    ...(context !== undefined && { context }),
    ...(namespace !== undefined && { namespace }),
    ...(v && { logger: consoleLogger(v) }),
    ...options,
  });
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is no whole number; write for example 10.`);
  return value;
}
