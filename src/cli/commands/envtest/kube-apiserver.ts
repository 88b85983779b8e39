/**
 * What `kube-apiserver` of `longwatch envtest-assets` runs: `longwatch serve` under the flags of kube-apiserver, with no
 * controllers beside it, as there are none beside that of envtest.
 *
 * Its data lies in the folder that the `etcd` beside it names, so it is there again after a restart and goes when envtest
 * removes that folder. If `--etcd-servers` leads to a real etcd, the data is there.
 */
import { get } from 'node:http';
import { join } from 'node:path';
import { Command } from 'commander';
import { startServer } from '../../../server/index.ts';
import type { RunningServer } from '../../../server/server-options.ts';
import { openEmbeddedStore } from '../../../store/index.ts';
import { lendObjects } from '../../../testing/server/shared-start.ts';
import { addServeCommand } from '../serve.ts';
import { startBeside } from '../serve-controllers.ts';
import { STORE_PATH, type StandInStore } from './etcd.ts';
import { readApiServerFlags } from './kube-apiserver-flags.ts';
import { rehearseOn } from './rehearsal.ts';

/** How long to wait for the etcd to say what it is. */
const ASK_MS = 10_000;
/** Runs in a kube-apiserver unless it is turned off; in `serve` it needs a controller. */
const ACCOUNTS_PLUGIN = 'ServiceAccount';

/** `onReady` gets it once it listens. */
export async function runKubeApiServer(
  given: readonly string[],
  onReady?: (server: RunningServer) => unknown,
): Promise<void> {
  let durability: 'fsync' | 'none' = 'fsync';
  const program = new Command('kube-apiserver');
  addServeCommand(program, (options, beside) => {
    const { enableAdmissionPlugins: enabled = [], disableAdmissionPlugins: disabled = [] } = options;
    const plugins = disabled.includes(ACCOUNTS_PLUGIN) ? enabled : [...new Set([...enabled, ACCOUNTS_PLUGIN])];
    const openStore = async () => {
      const store = await openEmbeddedStore({ dataDir: join(options.dataDir, 'store'), durability });
      await lendObjects(store); // it starts sooner where the first objects are there already
      return store;
    };
    const own = { ...options, durability, enableAdmissionPlugins: plugins };
    const started = startBeside(startServer, options.etcd ? own : { ...own, openStore }, beside);
    if (onReady) started.then(onReady, () => {});
    return started;
  });
  const { args, etcdServers, ignored } = readApiServerFlags(given, program.commands[0]!);
  for (const flag of ignored) process.stderr.write(`longwatch: ${flag} is not known here and changes nothing\n`);
  const store = await standInStore(etcdServers[0]);
  const where = store ? store.dataDir : process.cwd();
  if (store && !store.fsync) durability = 'none';
  const more = [
    `--data-dir=${join(where, store ? 'longwatch' : '.longwatch')}`,
    ...(store || etcdServers.length === 0 ? [] : [`--etcd-servers=${etcdServers.join(',')}`]),
    '--controllers=-*',
    '--workers=0', // a suite starts many servers that do little each
  ];
  await program.parseAsync(['serve', ...more, ...args], { from: 'user' });
}

/** In the working folder, from its start to its end; `onDone` is called before this ends. */
export async function rehearse(onDone: () => void): Promise<void> {
  const server = await new Promise<RunningServer>((resolve, reject) => {
    runKubeApiServer(['--secure-port=0', '--authorization-mode=AlwaysAllow'], resolve).catch(reject);
  });
  await rehearseOn(server.url);
  await server.close();
  onDone();
}

/** Undefined if there is a real etcd, or nothing. Not by `fetch`: loading that takes longer than all of this. */
function standInStore(url: string | undefined): Promise<StandInStore | undefined> {
  if (!url?.startsWith('http:')) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const none = () => resolve(undefined);
    const ask = get(new URL(STORE_PATH, url), { agent: false, timeout: ASK_MS }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece)).on('error', none);
      answer.on('end', () =>
        resolve(answer.statusCode === 200 ? JSON.parse(Buffer.concat(pieces).toString('utf8')) : undefined),
      );
    });
    ask.on('error', none).on('timeout', () => ask.destroy(new Error('no answer in time')));
  });
}
