/** `longwatch history KIND NAME`: the kept revisions of one object, who changed what, and what it was. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { showChange } from '../../../api/index.ts';
import { addClusterOptions, type ClusterFlags, connectTo, wholeNumber } from '../../cluster/cluster-flags.ts';
import { type HistoryInfo, Introspection } from '../../cluster/introspection.ts';
import { yamlOf } from '../../cluster/object-text.ts';
import type { Io } from '../../terminal/io.ts';
import { harmless } from '../../terminal/paint.ts';
import { runVerb, UsageError, type Verb } from '../../terminal/run-verb.ts';
import { tableLines } from '../../terminal/table.ts';
import { ageOf } from './watches.ts';

export type HistoryFlags = ClusterFlags & {
  readonly diff?: readonly string[];
  readonly revision?: number;
  readonly limit?: number;
  readonly output?: 'json' | 'yaml';
};

/** More would not fit into a line. */
const SHOWN_FIELDS = 4;

export function addHistoryCommand(program: Command): void {
  const command = program
    .command('history')
    .description('what an object was: its kept revisions, who changed what (a server of ours)')
    .argument('<kind>', 'as for kubectl get: deploy, pods, widgets.example.com')
    .argument('<name>', 'of the object')
    .option('--diff <revisions...>', 'what is different at the second: two revisions; 0 is before the object')
    .addOption(new Option('--revision <n>', 'the object as it was then').argParser(wholeNumber))
    .addOption(new Option('--limit <n>', 'so many revisions, the newest').argParser(wholeNumber))
    .addOption(new Option('-o, --output <form>', 'everything the server says').choices(['json', 'yaml']))
    .addHelpText(
      'after',
      `
Examples:
  longwatch history deploy web -n shop
  longwatch history deploy web --diff 4001 4690
  longwatch history deploy web --revision 4001 | kubectl apply -f -`,
    );
  addClusterOptions(command).action((kind: string, name: string, flags: HistoryFlags) =>
    runVerb(history(kind, name, flags)),
  );
}

export function history(kind: string, name: string, flags: HistoryFlags): Verb {
  return async (io) => {
    const diff = flags.diff && diffOf(flags.diff);
    await using client = await connectTo(flags);
    const inside = await Introspection.of(client, io.signal);
    const { limit, revision, output } = flags;
    const found = await inside.history(client.namespace, `${kind}:${name}`, {
      ...(limit !== undefined && { limit }),
      ...(revision !== undefined && { revision }),
      ...(diff !== undefined && { diff }),
    });
    if (output === 'json') io.print(JSON.stringify(found, null, 2));
    else if (output === 'yaml') io.write(yamlOf(found));
    else if (found.object !== undefined) io.write(yamlOf(found.object));
    else if (found.diff) showDiff(io, found.diff);
    else showRevisions(io, found);
  };
}

function diffOf(given: readonly string[]): string {
  const two = given.flatMap((text) => text.split(',')).filter((text) => text !== '');
  if (two.length !== 2) throw new UsageError('--diff takes two revisions, for example --diff 4001 4690.');
  try {
    return two.map(wholeNumber).join(',');
  } catch (err) {
    if (err instanceof InvalidArgumentError) throw new UsageError(`--diff: ${err.message}`);
    throw err;
  }
}

function showRevisions(io: Io, { status, metadata }: HistoryInfo): void {
  const now = Date.now();
  const rows = status.revisions.map(
    ({ revision, time, change, manager = '', user = '', changed = [], changedCount = 0 }) => {
      const more = changedCount > SHOWN_FIELDS ? ` and ${changedCount - SHOWN_FIELDS} more` : '';
      return [
        String(revision),
        ageOf(time, now),
        change,
        manager,
        user,
        changed.slice(0, SHOWN_FIELDS).join(', ') + more,
      ];
    },
  );
  const head = ['REVISION', 'AGE', 'CHANGE', 'MANAGER', 'USER', 'FIELDS'];
  for (const line of tableLines([head, ...rows].map((row) => row.map(harmless)))) io.print(line);
  if (!status.exists) io.note(`${metadata.name} does not exist any more`);
  if (!status.isComplete) io.note('what came before is compacted, or left out by --limit');
}

function showDiff(io: Io, { from, to, changes, isTruncated }: NonNullable<HistoryInfo['diff']>): void {
  const { paint } = io;
  io.print(`${from} -> ${to}`);
  const colours = { '+': paint.green, '-': paint.red, '~': paint.yellow };
  for (const { path, from: before, to: after } of changes) {
    const line = harmless(
      showChange({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }),
    );
    io.print(`  ${colours[line[0] as '+'](line)}`);
  }
  if (isTruncated) io.note('there are more changes than the server shows');
}
