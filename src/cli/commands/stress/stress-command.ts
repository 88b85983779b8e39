/** `longwatch stress`: makes and deletes objects at a rate while N watch, and says at the end how that went. */
import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { greatestOf } from '../../../api/index.ts';
import { addClusterOptions, type ClusterFlags, connectTo, wholeNumber } from '../../cluster/cluster-flags.ts';
import { Progress } from '../../terminal/progress.ts';
import { EXIT, runVerb, UsageError, type Verb } from '../../terminal/run-verb.ts';
import { percentile, showBytes, showMs, tableLines } from '../../terminal/table.ts';
import { parseDuration } from '../serve-flags.ts';
import { type LoadResult, runLoad } from './stress-load.ts';

export type StressFlags = ClusterFlags & {
  readonly rate: number;
  readonly watchers: number;
  readonly count: number;
  readonly duration: number;
  readonly size: number;
  readonly output?: 'json';
};

/** More is no longer a test of the server but of this process. */
const MOST = { watchers: 5000, count: 1_000_000, rate: 10_000, size: 900_000 };

export function addStressCommand(program: Command): void {
  const number = (flags: string, help: string, value: number) =>
    new Option(flags, help).default(value).argParser(wholeNumber);
  const command = program
    .command('stress')
    .description('make and delete objects at a rate while many watch: rates, latencies, 410s, gaps')
    .addOption(number('--rate <n>', 'objects a second; each is made and deleted', 50))
    .addOption(number('--watchers <n>', 'how many watch', 10))
    .addOption(number('--count <n>', 'objects at the most', 1000))
    .addOption(new Option('--duration <duration>', 'time at the most').default(60_000, '1m').argParser(parseDuration))
    .addOption(number('--size <bytes>', 'of the data in each object', 512))
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json']))
    .addHelpText(
      'after',
      `
It makes ConfigMaps in the namespace and removes them. Exit code 3: a watcher was not told of everything.

Examples:
  longwatch stress
  longwatch stress --rate 500 --watchers 200 --count 20000 -n scratch
  longwatch stress --duration 10s -o json`,
    );
  addClusterOptions(command).action((flags: StressFlags) => runVerb(stress(flags)));
}

const DRAIN_MS = 30_000;

export function stress(flags: StressFlags, { drainMs }: { readonly drainMs: number } = { drainMs: DRAIN_MS }): Verb {
  return async (io) => {
    for (const [name, most] of Object.entries(MOST)) {
      const value = flags[name as keyof typeof MOST];
      if (value > most || (value === 0 && name !== 'size'))
        throw new UsageError(`--${name} ${value} is out of bounds: 1 to ${most}.`);
    }
    await using client = await connectTo(flags);
    using progress = new Progress(io, 'stress');
    const result = await runLoad({
      client,
      id: randomBytes(4).toString('hex'),
      rate: flags.rate,
      count: flags.count,
      durationMs: flags.duration,
      watchers: flags.watchers,
      sizeBytes: flags.size,
      drainMs,
      signal: io.signal,
      onProgress: (share, text) => progress.show(share, text),
    });
    progress[Symbol.dispose]();
    const report = reportOf(result);
    if (flags.output === 'json') io.print(JSON.stringify(report, null, 2));
    else for (const line of tableLines(rowsOf(report, result))) io.print(line);
    return report.gaps > 0 ? EXIT.found : EXIT.done;
  };
}

function reportOf({ made, deleted, seconds, writeMs, watchers, errors, memoryBytes }: LoadResult) {
  const sum = (value: (watcher: (typeof watchers)[number]) => number) =>
    watchers.reduce((total, watcher) => total + value(watcher), 0);
  const events = sum((watcher) => watcher.events);
  return {
    objects: made,
    deleted,
    seconds: rounded(seconds),
    writesPerSecond: rounded((made + deleted) / seconds),
    eventsPerSecond: rounded(events / seconds),
    events,
    watchers: watchers.length,
    writeMs: shares(writeMs),
    eventMs: shares(watchers.flatMap(({ latencies }) => latencies)),
    expired: sum((watcher) => watcher.expired),
    relists: sum((watcher) => watcher.relists),
    reconnects: sum((watcher) => watcher.reconnects),
    gaps: sum((watcher) => watcher.gaps),
    errors: Object.fromEntries(errors),
    ...(memoryBytes.length > 0 && {
      memoryBytes: { before: memoryBytes[0]!, most: greatestOf(memoryBytes), after: memoryBytes.at(-1)! },
    }),
  };
}

type Report = ReturnType<typeof reportOf>;

function rowsOf(report: Report, { errors }: LoadResult): string[][] {
  const times = ({ p50, p90, p99, max }: Report['writeMs']) =>
    `50 % ${showMs(p50)}, 90 % ${showMs(p90)}, 99 % ${showMs(p99)}, all ${showMs(max)}`;
  const { memoryBytes: memory } = report;
  return [
    ['objects', `${report.objects} made, ${report.deleted} deleted in ${report.seconds} s`],
    ['writes', `${report.writesPerSecond}/s; ${times(report.writeMs)}`],
    ['events', `${report.eventsPerSecond}/s to ${report.watchers} watchers; ${times(report.eventMs)}`],
    ['410s', `${report.expired}, ${report.relists} lists because of them, ${report.reconnects} streams opened again`],
    [
      'gaps',
      report.gaps === 0 ? 'none: every watcher was told of every change' : `${report.gaps} changes were not told`,
    ],
    ['errors', [...errors].map(([reason, count]) => `${count} x ${reason}`).join(', ') || 'none'],
    [
      'server memory',
      memory
        ? `${showBytes(memory.before)} before, ${showBytes(memory.most)} at most, ${showBytes(memory.after)} after`
        : 'not told to this user',
    ],
  ];
}

function shares(times: readonly number[]): { p50: number; p90: number; p99: number; max: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((share) => rounded(percentile(sorted, share)));
  return { p50: p50!, p90: p90!, p99: p99!, max: max! };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
