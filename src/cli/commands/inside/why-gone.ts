/** `longwatch why-gone REVISION|last`: explains a 410: who asked for what, why it was gone, and what to do. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import { type ExpirationInfo, Introspection, resourceOf } from '../../cluster/introspection.ts';
import type { Io } from '../../terminal/io.ts';
import { harmless } from '../../terminal/paint.ts';
import { EXIT, runVerb, type Verb } from '../../terminal/run-verb.ts';
import { tableLines } from '../../terminal/table.ts';
import { ageOf } from './watches.ts';

export type WhyGoneFlags = ClusterFlags & { readonly output?: 'json' };

export function addWhyGoneCommand(program: Command): void {
  const command = program
    .command('why-gone')
    .description('explain a 410: who asked for which revision, and why it was gone (a server of ours)')
    .argument('<revision>', 'that was asked for, or last', parseRevision)
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json']))
    .addHelpText('after', '\nExamples:\n  longwatch why-gone last\n  longwatch why-gone 4711');
  addClusterOptions(command, { hasNamespace: false }).action((revision: number | 'last', flags: WhyGoneFlags) =>
    runVerb(whyGone(revision, flags)),
  );
}

export function whyGone(revision: number | 'last', flags: WhyGoneFlags): Verb {
  return async (io) => {
    await using client = await connectTo(flags);
    const inside = await Introspection.of(client, io.signal);
    const all = (await inside.list('expirations')).sort((a, b) => numberOf(b) - numberOf(a));
    const [found] = revision === 'last' ? all : all.filter(({ status }) => status.askedRevision === revision);
    if (flags.output === 'json') io.print(JSON.stringify(found ?? null, null, 2));
    else if (found) explain(io, found);
    if (found) return EXIT.done;
    io.note(
      revision === 'last'
        ? 'Nobody was answered 410 since this server started, as far as it remembers.'
        : `Nobody who asked for ${revision} was answered 410 since this server started, as far as it remembers: the last 1000.`,
    );
    if (all.length > 0) io.note('`kubectl get expirations` lists those it remembers.');
    return EXIT.found;
  };
}

function explain(io: Io, { metadata, spec, status }: ExpirationInfo): void {
  const rows = [
    [
      'who',
      `${spec.user}${spec.userAgent === undefined ? '' : `, ${spec.userAgent}`}${spec.address === undefined ? '' : `, from ${spec.address}`}`,
    ],
    [
      'asked for',
      `${spec.verb} of ${resourceOf(spec)}${spec.namespace === undefined ? '' : ` in ${spec.namespace}`} from revision ${status.askedRevision}`,
    ],
    ['when', `${ageOf(metadata.creationTimestamp, Date.now())} ago`],
    ['oldest kept', status.oldestRevision === undefined ? 'not known' : String(status.oldestRevision)],
    ['answer', `410: ${status.message}`],
    ['why', `${status.reason}: ${status.explanation}`],
    ['what to do', status.remedy],
  ];
  for (const line of tableLines(rows.map((row) => row.map(harmless)))) io.print(line);
}

/** The newest has the highest number. */
function numberOf({ metadata }: ExpirationInfo): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1)) || 0;
}

function parseRevision(text: string): number | 'last' {
  if (text === 'last') return text;
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Give the number of a revision, or last.');
  return Number(text);
}
