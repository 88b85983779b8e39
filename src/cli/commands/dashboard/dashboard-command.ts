/** `longwatch dashboard`: a page for any cluster of the kubeconfig, served to the browser of this machine's user. */
import { type Command, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo, wholeNumber } from '../../cluster/cluster-flags.ts';
import { runVerb, UsageError, type Verb } from '../../terminal/run-verb.ts';
import { startDashboard } from './dashboard-server.ts';

export type DashboardFlags = ClusterFlags & { readonly port?: number };

export function addDashboardCommand(program: Command): void {
  const command = program
    .command('dashboard')
    .description('a page in the browser: the chain from store to clients, plots, watches, histories, events')
    .addOption(new Option('--port <n>', 'on 127.0.0.1 (default: a free one)').argParser(wholeNumber))
    .addHelpText(
      'after',
      `
It prints a link that is good once, and another when that was used. Credentials stay in this process; the page only reads.
On another machine: ssh -L 8001:127.0.0.1:8001 HOST longwatch dashboard --port 8001

Examples:
  longwatch dashboard
  longwatch dashboard --context staging --port 8001`,
    );
  addClusterOptions(command, { hasNamespace: false }).action((flags: DashboardFlags) => runVerb(dashboard(flags)));
}

export function dashboard(flags: DashboardFlags): Verb {
  return async (io) => {
    const { port = 0 } = flags;
    if (port > 65_535) throw new UsageError(`--port: ${port} is no port; write for example 8001.`);
    await using client = await connectTo(flags, { userAgent: 'longwatch-dashboard' });
    await using page = await startDashboard({
      client,
      port,
      name: flags.context ?? client.transport.access.server.host,
      onLink: (url) => io.note(`that link is used; for another browser: ${url}`),
    });
    io.print(page.link);
    io.note(`${client.transport.access.server.host}, read only; stop with Ctrl-C`);
    await new Promise<void>((resolve) => {
      if (io.signal.aborted) resolve();
      io.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  };
}
