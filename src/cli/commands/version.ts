/**
 * `longwatch version`: of this program, of Node, and of the server that the kubeconfig leads to. A server that does not
 * answer is said, and is no failure: half an answer is better than none.
 */
import { createRequire } from 'node:module';
import { type Command, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo } from '../cluster/cluster-flags.ts';
import { yamlOf } from '../cluster/object-text.ts';
import { runVerb, type Verb } from '../terminal/run-verb.ts';

type VersionFlags = ClusterFlags & { readonly client?: boolean; readonly output?: 'json' | 'yaml' };

/** A server that is away must not keep anybody waiting. */
const LIMIT_MS = 5000;

export function addVersionCommand(program: Command): void {
  const command = program
    .command('version')
    .description('print the versions of this program and of the server')
    .option('--client', 'of this program only: no server is asked')
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json', 'yaml']))
    .addHelpText('after', '\nExamples:\n  longwatch version\n  longwatch version --client -o json');
  addClusterOptions(command, { hasNamespace: false }).action((flags: VersionFlags) => runVerb(version(flags)));
}

export function version(flags: VersionFlags): Verb {
  return async (io) => {
    const own = createRequire(import.meta.url)('longwatch/package.json').version as string;
    const client = { longwatch: own, node: process.version };
    const server = flags.client ? undefined : await serverOf(flags, io.signal);
    const whole = { client, ...(server?.info && { server: server.info }) };
    if (flags.output === 'json') io.print(JSON.stringify(whole, null, 2));
    else if (flags.output === 'yaml') io.write(yamlOf(whole));
    else {
      io.print(`longwatch ${own} (Node ${process.version.slice(1)})`);
      if (server?.info)
        io.print(
          `server ${String(server.info.gitVersion)}${isOurs(server.info) ? ' (longwatch)' : ''} at ${server.url}`,
        );
    }
    if (server?.failure !== undefined) io.note(`server unknown: ${server.failure}`);
  };
}

type Info = { readonly gitVersion?: string };
type ServerVersion = { readonly url?: string; readonly info?: Info; readonly failure?: string };

export function isOurs({ gitVersion = '' }: Info): boolean {
  return gitVersion.endsWith('+longwatch');
}

async function serverOf(flags: VersionFlags, signal: AbortSignal): Promise<ServerVersion> {
  try {
    await using client = await connectTo(flags);
    const timeouts = { headersMs: LIMIT_MS, totalMs: LIMIT_MS };
    const { body } = await client.transport.request<Info>('GET', '/version', { signal, timeouts, maxTries: 1 });
    return { url: client.transport.access.server.origin, info: body };
  } catch (err) {
    signal.throwIfAborted();
    return { failure: (err as Error).message };
  }
}
