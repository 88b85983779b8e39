/** `longwatch watches`: every watch that is open on a server of ours, those that are furthest behind first. */
import { type Command, Option } from 'commander';
import { humanAge } from '../../../api/index.ts';
import { addClusterOptions, type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import { Introspection, resourceOf, type WatchInfo } from '../../cluster/introspection.ts';
import { yamlOf } from '../../cluster/object-text.ts';
import { harmless } from '../../terminal/paint.ts';
import { runVerb, type Verb } from '../../terminal/run-verb.ts';
import { showBytes, tableLines } from '../../terminal/table.ts';

export const SORTS = ['lag', 'age', 'bytes', 'user', 'resource'] as const;
export type Sort = (typeof SORTS)[number];

export type WatchesFlags = ClusterFlags & {
  readonly sort: Sort;
  readonly end?: string;
  readonly output?: 'json' | 'yaml' | 'wide' | 'name';
};

export function addWatchesCommand(program: Command): void {
  const command = program
    .command('watches')
    .description('who watches what, how far behind (a server of ours)')
    .addOption(new Option('--sort <by>', 'what comes first').choices(SORTS).default('lag'))
    .option('--end <name>', 'end this watch cleanly: its client goes on where it was')
    .addOption(new Option('-o, --output <form>', 'instead of the table').choices(['json', 'yaml', 'wide', 'name']))
    .addHelpText(
      'after',
      `
Examples:
  longwatch watches
  longwatch watches --sort bytes -o wide
  longwatch watches --end pods-14`,
    );
  addClusterOptions(command, { hasNamespace: false }).action((flags: WatchesFlags) => runVerb(watches(flags)));
}

export function watches({ sort, end, output, ...cluster }: WatchesFlags): Verb {
  return async (io) => {
    await using client = await connectTo(cluster);
    const inside = await Introspection.of(client, io.signal);
    if (end !== undefined) {
      await inside.endWatch(end);
      io.print(`ended ${end}`);
      return;
    }
    const all = sortWatches(await inside.list('watches'), sort);
    if (output === 'json') io.print(JSON.stringify(all, null, 2));
    else if (output === 'yaml') io.write(yamlOf(all));
    else if (output === 'name') for (const { metadata } of all) io.print(metadata.name);
    else for (const line of tableLines(watchRows(all, output === 'wide', Date.now()))) io.print(line);
  };
}

export function sortWatches(all: readonly WatchInfo[], sort: Sort): WatchInfo[] {
  const by: Record<Sort, (a: WatchInfo, b: WatchInfo) => number> = {
    lag: (a, b) => lagOf(b) - lagOf(a) || b.status.behind.bytes - a.status.behind.bytes,
    age: (a, b) => Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? ''),
    bytes: (a, b) => b.status.bytesSent - a.status.bytesSent,
    user: (a, b) => a.spec.user.localeCompare(b.spec.user),
    resource: (a, b) => resourceOf(a.spec).localeCompare(resourceOf(b.spec)),
  };
  return [...all].sort((a, b) => by[sort](a, b) || a.metadata.name.localeCompare(b.metadata.name));
}

function lagOf({ status }: WatchInfo): number {
  return status.behind.seconds * 1e6 + status.behind.revisions;
}

export function watchRows(all: readonly WatchInfo[], isWide: boolean, now: number): string[][] {
  const head = ['NAME', 'USER', 'RESOURCE', 'NAMESPACE', 'STATE', 'BEHIND', 'SECONDS', 'UNREAD', 'EVENTS', 'AGE'];
  const rows = all.map(({ metadata, spec, status }) => [
    metadata.name,
    spec.user,
    resourceOf(spec),
    spec.namespace ?? '',
    status.state,
    String(status.behind.revisions),
    String(status.behind.seconds),
    showBytes(status.behind.bytes),
    String(status.eventsSent),
    ageOf(metadata.creationTimestamp, now),
    ...(isWide
      ? [[spec.labelSelector, spec.fieldSelector].filter(Boolean).join(' '), spec.address ?? '', spec.userAgent ?? '']
      : []),
  ]);
  return [isWide ? [...head, 'SELECTORS', 'ADDRESS', 'AGENT'] : head, ...rows].map((row) => row.map(harmless));
}

export function ageOf(since: string | undefined, now: number): string {
  return since === undefined ? '' : humanAge(since, now);
}
