/** `longwatch doctor`: looks at any cluster through the kubeconfig, and says what is well, what is not and what to do. */
import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import type { Io } from '../../terminal/io.ts';
import { harmless } from '../../terminal/paint.ts';
import { Progress } from '../../terminal/progress.ts';
import { EXIT, runVerb, type Verb } from '../../terminal/run-verb.ts';
import { parseDuration } from '../serve-flags.ts';
import { dataFolderOf } from './data-folder-check.ts';
import { examine } from './examine.ts';
import type { Finding, Level } from './finding.ts';
import { BOOKMARK_MS, Patient, SLOW } from './patient.ts';

export type DoctorFlags = ClusterFlags & {
  readonly for: number;
  readonly requestTimeout: number;
  readonly dataDir?: string;
  readonly strict?: boolean;
  readonly output?: 'json';
};

const MOST_RESOURCES = 300;

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('look at any cluster: can it list and watch, are streams cut, how long is its history')
    .addOption(
      new Option('--for <duration>', 'how long to look at a quiet stream; bookmarks come once a minute')
        .default(80_000, '80s')
        .argParser(parseDuration),
    )
    .addOption(
      new Option('--request-timeout <duration>', 'for one answer').default(10_000, '10s').argParser(parseDuration),
    )
    .option('--data-dir <dir>', 'of a server of ours on this machine (default: where its kubeconfig lies)')
    .option('--strict', 'warnings count as failures')
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json']))
    .addHelpText(
      'after',
      `
It makes two ConfigMaps in the namespace and removes them again. Exit code 0: nothing is wrong, 3: something is.

Examples:
  longwatch doctor
  longwatch doctor --for 10s                     in a hurry
  longwatch doctor --context prod -n scratch --for 10m    is something cutting idle streams?
  longwatch doctor -o json | jq '.findings[] | select(.level != "ok")'`,
    );
  addClusterOptions(command).action((flags: DoctorFlags) => runVerb(doctor(flags)));
}

export function doctor(flags: DoctorFlags): Verb {
  return async (io) => {
    await using client = await connectTo(flags);
    using progress = new Progress(io, 'doctor');
    const patient = new Patient({
      client,
      namespace: client.namespace,
      timeoutMs: flags.requestTimeout,
      forMs: flags.for,
      slow: SLOW,
      bookmarkMs: BOOKMARK_MS,
      mostResources: MOST_RESOURCES,
      signal: io.signal,
      id: randomBytes(4).toString('hex'),
      dataDir: dataFolderOf(flags, io.env),
      onStep: (text) => progress.show(undefined, text),
    });
    const findings: Finding[] = [];
    for await (const finding of examine(patient)) {
      findings.push(finding);
      progress[Symbol.dispose]();
      if (flags.output === undefined) show(io, finding);
    }
    const count = (level: Level) => findings.filter((one) => one.level === level).length;
    const summary = {
      ok: count('ok'),
      warnings: count('warning'),
      failures: count('failure'),
      skipped: count('skipped'),
    };
    if (flags.output === 'json') io.print(JSON.stringify({ findings, summary }, null, 2));
    else
      io.print(
        `${summary.ok} ok, ${summary.warnings} warnings, ${summary.failures} failures, ${summary.skipped} not looked at`,
      );
    return summary.failures > 0 || (flags.strict && summary.warnings > 0) ? EXIT.found : EXIT.done;
  };
}

function show(io: Io, { level, check, message, remedy }: Finding): void {
  const { paint } = io;
  const colour = { ok: paint.green, skipped: paint.dim, warning: paint.yellow, failure: paint.red }[level];
  io.print(`${colour(level.padEnd(8))} ${check.padEnd(18)} ${harmless(message)}`);
  if (remedy !== undefined) io.print(`${' '.repeat(27)} ${paint.cyan(`-> ${remedy}`)}`);
}
