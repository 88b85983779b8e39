/**
 * Puts one cluster, with its user and context, into a kubeconfig that other tools share.
 *
 * Always true: the file is read and written under the lock that kubectl takes (`FILE.lock`), replaced as a whole, and for
 * its owner only; every entry and field of others stays (comments do not: no tool that writes this file keeps them). What
 * has the same name and is of another server is refused, unless it is forced. A file that cannot be read is not touched.
 */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { dump, load } from 'js-yaml';
import { makePrivateFolder } from '../../../files/private-files.ts';
import { VerbError } from '../../terminal/run-verb.ts';

type Entry = { name: string; cluster?: Cluster; user?: object; context?: object };
type Cluster = { server?: string; 'certificate-authority-data'?: string };
type Config = { clusters?: Entry[]; users?: Entry[]; contexts?: Entry[]; 'current-context'?: string };

export type MergeOptions = {
  readonly text: string;
  /** Where it is from, for messages. */
  readonly source: string;
  readonly target: string;
  readonly name: string;
  readonly isForced: boolean;
  readonly setsCurrent: boolean;
};

export async function mergeKubeconfig(options: MergeOptions): Promise<{ readonly isCurrent: boolean }> {
  const { target, name, setsCurrent } = options;
  makePrivateFolder(dirname(target));
  const lock = `${target}.lock`;
  const held = await open(lock, 'wx', 0o600).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'EEXIST') throw err;
    throw new VerbError(
      `Cannot change ${JSON.stringify(target)}: ${JSON.stringify(lock)} is there, so another program is changing it`,
      'Try again; if no program does, remove that file.',
    );
  });
  try {
    const from = parse(options.text, options.source);
    const found = await readFile(target, 'utf8').catch((err: NodeJS.ErrnoException) => {
      if (err.code === 'ENOENT') return '';
      throw err;
    });
    const into: Config = { apiVersion: 'v1', kind: 'Config', ...parse(found, target) } as Config;
    const [cluster, user] = [from.clusters?.[0]?.cluster, from.users?.[0]?.user];
    if (!cluster || !user)
      throw new VerbError(`Cannot use ${JSON.stringify(options.source)}: it has no cluster with a user`);
    refuseOther(into, cluster, options);
    const isCurrent = setsCurrent || !into['current-context'];
    const merged: Config = {
      ...into,
      clusters: withEntry(into.clusters, { name, cluster }),
      users: withEntry(into.users, { name, user }),
      contexts: withEntry(into.contexts, { name, context: { cluster: name, user: name } }),
      ...(isCurrent && { 'current-context': name }),
    };
    await replace(target, dump(merged, { noRefs: true, lineWidth: -1 }));
    return { isCurrent };
  } finally {
    await held.close();
    await rm(lock, { force: true });
  }
}

function refuseOther(into: Config, cluster: Cluster, { name, target, isForced }: MergeOptions): void {
  const there = into.clusters?.find((one) => one.name === name)?.cluster;
  const authority = 'certificate-authority-data';
  const isSame = !there || there.server === cluster.server || there[authority] === cluster[authority];
  if (isSame || isForced) return;
  throw new VerbError(
    `Cannot merge: ${JSON.stringify(target)} has a cluster "${name}" already, at ${there.server}`,
    'Give this one another name with --name, or replace it with --force.',
  );
}

function withEntry(entries: Entry[] | undefined, entry: Entry): Entry[] {
  const others = entries ?? [];
  const at = others.findIndex(({ name }) => name === entry.name);
  return at === -1 ? [...others, entry] : others.map((one, i) => (i === at ? entry : one));
}

function parse(text: string, origin: string): Config {
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : load(text, { maxAliases: 100, maxDepth: 50 });
  } catch (err) {
    // Not its message: it quotes lines, and they hold credentials.
    const line = (err as { mark?: { line: number } }).mark?.line;
    const place = line === undefined ? '' : `, at line ${line + 1}`;
    throw new VerbError(
      `Cannot read ${JSON.stringify(origin)}: it is no YAML${place}`,
      'Mend it, or name another file.',
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new VerbError(`Cannot read ${JSON.stringify(origin)}: it is no kubeconfig`, 'Name another file.');
  return value as Config;
}

/** Another name first, so that whoever reads sees the old file or the new one. A link stays a link. */
async function replace(target: string, text: string): Promise<void> {
  const { realpath } = await import('node:fs/promises');
  const file = await realpath(target).catch(() => target);
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
    await handle.close();
    await rename(draft, file);
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(draft, { force: true });
    throw err;
  }
}
