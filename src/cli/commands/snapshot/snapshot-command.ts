/**
 * `longwatch snapshot save|restore|status`: backups of the store. Saved online from a server of ours by its kubeconfig, or
 * from anything that speaks etcd, or from the folder of a server that is stopped; restored to a new folder.
 */
import { type Command, Option } from 'commander';
import { wholeNumber } from '../../cluster/cluster-flags.ts';
import { runVerb } from '../../terminal/run-verb.ts';
import { parseUrls } from '../serve-flags.ts';
import { type RestoreFlags, restore } from './restore.ts';
import { type SaveFlags, save } from './save.ts';
import { status } from './status.ts';

export function addSnapshotCommand(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description('save, restore and look at backups of the store')
    .addHelpText(
      'after',
      `
Examples:
  longwatch snapshot save backup.db --kubeconfig .longwatch/admin.kubeconfig
  longwatch snapshot save backup.db --endpoints https://127.0.0.1:2379 --cacert ca.crt --cert etcd.crt --key etcd.key
  longwatch snapshot status backup.db
  longwatch snapshot restore backup.db --data-dir restored && longwatch serve --data-dir restored`,
    );
  snapshot
    .command('save')
    .description('a consistent copy in one file, while everything goes on')
    .argument('<file>', 'which must not exist yet')
    .option('--kubeconfig <file>', 'of the server that runs (default: that of .longwatch, else as kubectl finds it)')
    .option('--context <name>', 'of that kubeconfig (default: its current one)')
    .option('--data-dir <dir>', 'of a server that is stopped')
    .addOption(new Option('--endpoints <urls>', 'where a store is served as etcd, or an etcd').argParser(parseUrls))
    .option('--cacert <file>', 'whom to trust for the certificate of the endpoints')
    .option('--cert <file>', 'client certificate for them; all three may come from --kubeconfig')
    .option('--key <file>', 'its private key')
    .addOption(new Option('--v <n>', 'what to say of requests: 6 each one').argParser(wholeNumber))
    .addOption(new Option('-o, --output <form>', 'instead of a line').choices(['json']))
    .action((file: string, flags: SaveFlags) => runVerb(save(file, flags)));
  snapshot
    .command('restore')
    .description('a new data folder from a snapshot of ours or of etcd')
    .argument('<file>', 'the snapshot')
    .requiredOption('--data-dir <dir>', 'for `longwatch serve`; it must not hold a store yet')
    .addOption(
      new Option('--bump-revision <n>', 'how far ahead revisions go on, so that nobody mistakes new ones for old')
        .default(1_000_000)
        .argParser(wholeNumber),
    )
    .addOption(new Option('-o, --output <form>', 'instead of a line').choices(['json']))
    .action((file: string, flags: RestoreFlags) => runVerb(restore(file, flags)));
  snapshot
    .command('status')
    .description('whether a snapshot is whole, and what is in it')
    .argument('<file>', 'the snapshot')
    .addOption(new Option('-o, --output <form>', 'instead of lines').choices(['json']))
    .action((file: string, flags: { output?: 'json' }) => runVerb(status(file, flags)));
}
