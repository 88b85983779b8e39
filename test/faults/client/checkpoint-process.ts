/**
 * The process that is killed: `checkpoint-process.ts <kubeconfig> <file>` keeps an informer with a checkpoint that is
 * written as often as it can be. It says on stdout how many objects it began with, and when it has written a batch.
 */

import { Informer } from '../../../src/client/advanced.ts';
import { connect } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';

const [kubeconfig, file] = process.argv.slice(2);
const tell = (line: string) => process.stdout.write(`${line}\n`);

const client = await connect({ paths: [kubeconfig!] });
const informer = new Informer(client, configMaps, { allNamespaces: true, checkpoint: { file: file!, flushMs: 1 } });
informer.subscribe(() => {});
await informer.synced();
tell(`synced ${informer.metrics.checkpoint!.restored}`);
for (let commits = 0; ; await new Promise((resolve) => setTimeout(resolve, 1))) {
  const now = informer.metrics.checkpoint!.commits;
  if (now > commits) tell(`saved ${now} lists ${informer.metrics.lists}`);
  commits = now;
}
