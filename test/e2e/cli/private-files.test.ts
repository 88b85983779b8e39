/**
 * Whatever a server and a client put on the disk can be read by their own user only, also where the umask would let
 * everybody: every file is looked at, while the server runs and after it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { openEmbeddedStore, openEtcdStore, restoreEmbeddedStore } from '../../../src/store/index.ts';
import { freePorts } from '../../support/free-ports.ts';
import { isRoot, NOBODY, ServeCommand } from './serve-command.ts';

let folder: string;
let umask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-private-'));
  chmodSync(folder, 0o755); // so that only what is in it decides
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true, force: true });
});

const at = (...names: string[]) => join(folder, ...names);

/** Everything below the folder, as `mode path`, that is open to anybody but its owner. */
function openToOthers(): { open: string[]; all: string[] } {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const open = all.filter((name) => {
    const stats = lstatSync(at(name), { throwIfNoEntry: false });
    return stats && (stats.mode & 0o7777) !== (stats.isDirectory() ? 0o700 : 0o600);
  });
  return { open: open.map((name) => `${lstatSync(at(name)).mode.toString(8)} ${name}`), all };
}

it('every file of a server, its logs, its snapshots, and the checkpoints of a client', async () => {
  const args = [
    ...['serve', '--secure-port', '0', '--data-dir', at('a', 'data'), '--audit-log-path', at('audit.log')],
    ...['--kubeconfig-out', at('b', 'kubeconfig'), '--etcd-listen-client-urls', 'http://127.0.0.1:0', '--v', '2'],
  ];
  await using server = new ServeCommand(args, { umask: 0 });
  const { kubeconfig } = await server.ready();
  await using client = await connect({ paths: [kubeconfig] });
  const secret = { metadata: { name: 'a' }, stringData: { word: 'only-for-the-owner' } };
  await client.resource(secrets).create(secret, { namespace: 'default' });
  {
    await using informer = client.informer(secrets, { allNamespaces: true, checkpoint: `${at('c', 'state')}/` });
    await informer.synced();
    await informer.saved();
    expect(openToOthers().open).toEqual([]);
  }
  const found = openToOthers();
  expect(found.open).toEqual([]);
  expect(found.all).toEqual(expect.arrayContaining(['a/data/store/data.mdb', 'a/data/pki/ca.key', 'b/kubeconfig']));
  // The word is on the disk, and somebody else cannot find it.
  const grep = (uid = process.getuid!()) => {
    const args = ['-rl', Buffer.from(secret.stringData.word).toString('base64'), folder];
    return spawnSync('grep', args, { encoding: 'utf8', uid, gid: uid }).stdout;
  };
  expect(grep()).toContain('data.mdb');
  if (isRoot) expect(grep(NOBODY)).toBe('');
  server.child.kill('SIGTERM');
  await server.exited;
  expect(openToOthers().open).toEqual([]);
});

it('every file of a store that is used by itself: made, restored, and copied out of an etcd', async () => {
  const store = await openEmbeddedStore({ dataDir: at('one', 'store') });
  await store.txn({ then: [{ kind: 'put', key: 'a', value: Buffer.from('b') }] });
  await store.snapshot(at('snapshot'));
  expect(openToOthers().open).toEqual([]);
  await store.close();
  await restoreEmbeddedStore(at('snapshot'), at('two', 'store'));
  expect(openToOthers().open).toEqual([]);

  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const args = ['serve', '--secure-port', '0', '--data-dir', at('data'), '--etcd-listen-client-urls', url];
  await using server = new ServeCommand(args, { umask: 0 });
  await server.ready();
  await using remote = await openEtcdStore({ endpoints: [url] });
  await remote.snapshot(at('remote-snapshot'));
  expect(openToOthers().open).toEqual([]);
  expect(readdirSync(folder)).toContain('remote-snapshot');
});
