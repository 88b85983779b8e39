/** `longwatch watch RESOURCE`: its flags. What it does is in follow.ts. */
import { type Command, Option } from 'commander';
import { addClusterOptions, wholeNumber } from '../../cluster/cluster-flags.ts';
import { runVerb } from '../../terminal/run-verb.ts';
import { parseDuration } from '../serve-flags.ts';
import { FORMS, type WatchFlags, watchResource } from './follow.ts';

export function addWatchCommand(program: Command): void {
  const command = program
    .command('watch')
    .description('follow a resource: what is there, then every change, through every broken connection')
    .argument('<resource>', 'as for kubectl get: pods, po, deployments.apps, a custom resource')
    .argument('[name]', 'only this object')
    .option('-A, --all-namespaces', 'instead of one namespace')
    .option('-l, --selector <labels>', 'only objects with these labels: app=web,tier!=db')
    .option('--field-selector <fields>', 'only objects with these fields: metadata.name=web')
    .addOption(new Option('-o, --output <form>', 'instead of a line for each change').choices(FORMS))
    .option('--checkpoint <file>', 'remember how far it came, and go on from there the next time')
    .option('--watch-only', 'only changes, not what is there already')
    .option('--bookmarks', 'show bookmarks too')
    .addOption(new Option('--max-events <n>', 'end after so many').argParser(wholeNumber))
    .addOption(new Option('--timeout <duration>', 'end after so long: 30s, 5m').argParser(parseDuration))
    .addHelpText(
      'after',
      `
Examples:
  longwatch watch pods -A                              every pod of every namespace
  longwatch watch deploy -n shop -o diff               what changes, field by field
  longwatch watch po -l app=web -o json | jq .type     an event per line
  longwatch watch cm --checkpoint cm.version           miss nothing between two runs`,
    );
  addClusterOptions(command).action((resource: string, name: string | undefined, flags: WatchFlags) =>
    runVerb(watchResource(resource, name, flags)),
  );
}
