/**
 * `longwatch lab [NAME]`: experiments that break something for real, on a server of their own, and show the symptom and
 * the remedy side by side. Each ends within two minutes and says whether it saw what it promised: exit code 3 if not.
 */
import { type Command, Option } from 'commander';
import type { Io } from '../../terminal/io.ts';
import { EXIT, runVerb, UsageError, type Verb } from '../../terminal/run-verb.ts';
import { tableLines } from '../../terminal/table.ts';
import type { Experiment, Outcome } from './experiment.ts';
import { halfOpen } from './experiments/half-open.ts';
import { restartStorm } from './experiments/restart-storm.ts';
import { slowClient } from './experiments/slow-client.ts';
import { slowHandler } from './experiments/slow-handler.ts';
import { smallWindow } from './experiments/small-window.ts';
import { withLab } from './laboratory.ts';

export const EXPERIMENTS: readonly Experiment[] = [smallWindow, slowClient, restartStorm, slowHandler, halfOpen];

type LabFlags = { readonly output?: 'json' };

export function addLabCommand(program: Command): void {
  program
    .command('lab')
    .description('experiments: break a watch for real, see the symptom and the remedy')
    .argument('[name]', 'which, or all; without one they are listed')
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json']))
    .addHelpText(
      'after',
      `
Examples:
  longwatch lab
  longwatch lab half-open
  longwatch lab all -o json        in CI: exit code 3 if one did not show what it promised`,
    )
    .action((name: string | undefined, flags: LabFlags) => runVerb(lab(name, flags)));
}

export function lab(name: string | undefined, { output }: LabFlags): Verb {
  return async (io) => {
    if (name === undefined) return list(io, output);
    const chosen = name === 'all' ? EXPERIMENTS : EXPERIMENTS.filter((one) => one.name === name);
    if (chosen.length === 0)
      throw new UsageError(
        `There is no experiment ${JSON.stringify(name)}: ${EXPERIMENTS.map((one) => one.name).join(', ')}, or all.`,
      );
    const outcomes: object[] = [];
    let hasFailed = false;
    for (const experiment of chosen) {
      if (output === undefined) introduce(io, experiment);
      const outcome = await withLab(io, (context) => experiment.run(context));
      hasFailed ||= outcome.promises.some(({ isSeen }) => !isSeen);
      outcomes.push({ name: experiment.name, ...outcome });
      if (output === undefined) show(io, experiment, outcome);
    }
    if (output === 'json') io.print(JSON.stringify(outcomes, null, 2));
    return hasFailed ? EXIT.found : EXIT.done;
  };
}

function list(io: Io, output: 'json' | undefined): void {
  const all = EXPERIMENTS.map(({ name, title }) => ({ name, title }));
  if (output === 'json') {
    io.print(JSON.stringify(all));
    return;
  }
  for (const line of tableLines(all.map(({ name, title }) => [io.paint.bold(name), title]))) io.print(line);
  io.note(`Next: longwatch lab ${all[0]!.name}`);
}

function introduce(io: Io, { name, title, story }: Experiment): void {
  io.print(`${io.paint.bold(name)}: ${title}`);
  for (const line of story) io.print(`  ${line}`);
}

function show(io: Io, { remedy }: Experiment, outcome: Outcome): void {
  const { paint } = io;
  const rows = [
    ['', paint.red('without'), paint.green('with the remedy')],
    ...outcome.without.rows.map(([what, value], i) => [what, value, outcome.with.rows[i]?.[1] ?? '']),
  ];
  for (const line of tableLines(rows)) io.print(`  ${line}`);
  for (const line of outcome.without.seen) io.print(`  ${paint.dim('in the log:')} ${line}`);
  io.print(`  ${paint.cyan(`remedy: ${remedy}`)}`);
  for (const { claim, isSeen } of outcome.promises)
    io.print(`  ${isSeen ? paint.green('seen    ') : paint.red('NOT SEEN')} ${claim}`);
  io.print('');
}
