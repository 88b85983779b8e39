/**
 * A snapshot of a store that is in use, over the API of a server of ours or over etcd's protocol, or of one in a folder
 * that nobody has open.
 *
 * Always true: the file is whole and on the disk, or it is not there. Certificates and tokens come from a kubeconfig; for
 * etcd from files, or from the kubeconfig too. A folder that a server has open is saved online, by that server.
 */

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SnapshotInfo, Store } from '../../../store/index.ts';
import { isStoreError, openEmbeddedStore, openEtcdStore } from '../../../store/index.ts';
import type { Io } from '../../terminal/io.ts';
import { Progress } from '../../terminal/progress.ts';
import { UsageError, type Verb, VerbError } from '../../terminal/run-verb.ts';
import { showBytes } from '../../terminal/table.ts';
import { saveOnline } from './save-online.ts';

export type SaveFlags = {
  readonly endpoints?: string[];
  readonly dataDir?: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly v?: number;
  readonly output?: 'json';
};

const DEFAULT_FOLDER = '.longwatch';
const LOOK_MS = 200;
/** For the first answer: whoever is not there by then is not there. */
const REACH_MS = 4000;

export function save(file: string, flags: SaveFlags): Verb {
  return async (io) => {
    const info = await saved(file, flags, io);
    if (flags.output === 'json') return io.print(JSON.stringify({ file, ...info }));
    const { bytes, revision, sha256, isAtLeast } = info;
    io.print(
      `saved ${file}: ${showBytes(bytes)}, revision ${revision}${isAtLeast ? ' or later' : ''}, sha256 ${sha256}`,
    );
  };
}

/** `isAtLeast`: etcd does not say of which revision it is. */
type Saved = SnapshotInfo & { readonly isAtLeast?: true };

async function saved(file: string, flags: SaveFlags, io: Io): Promise<Saved> {
  const { endpoints, dataDir, kubeconfig, context } = flags;
  if (endpoints) return copy(await openOnline(endpoints, flags), file, io);
  const isNamed = kubeconfig !== undefined || context !== undefined;
  if (dataDir !== undefined && isNamed)
    throw new UsageError(
      '--data-dir is for a server that is stopped, --kubeconfig and --context for one that runs: give one of them.',
    );
  if (isNamed || (dataDir === undefined && !existsSync(join(DEFAULT_FOLDER, 'store'))))
    return saveOnline(file, flags, io);
  const folder = dataDir ?? DEFAULT_FOLDER;
  const store = await openFolder(folder);
  return store === 'in use'
    ? saveOnline(file, { ...flags, kubeconfig: ownKubeconfig(folder) }, io)
    : copy(store, file, io);
}

async function copy(opened: Store, file: string, io: Io): Promise<Saved> {
  await using store = opened;
  const { sizeInUseBytes, revision } = await store.status({ signal: io.signal });
  using progress = new Progress(io, 'saving');
  const look = setInterval(async () => {
    const bytes = await sizeOf(file);
    progress.show(Math.min(0.99, bytes / Math.max(1, sizeInUseBytes)), showBytes(bytes));
  }, LOOK_MS);
  try {
    const info = await store.snapshot(file, { signal: io.signal });
    return info.revision === undefined ? { ...info, revision, isAtLeast: true } : info;
  } finally {
    clearInterval(look);
  }
}

async function openOnline(endpoints: readonly string[], flags: SaveFlags): Promise<Store> {
  const tls = await certificatesOf(flags);
  try {
    return await openEtcdStore({ endpoints, requestTimeoutMs: REACH_MS, ...(tls && { tls }) });
  } catch (err) {
    if (!isStoreError(err)) throw err;
    const next = endpoints.some((url) => url.startsWith('https:'))
      ? 'Is it served there, and are the certificates right? --cacert, --cert and --key, or --kubeconfig for a server of ours.'
      : 'Is it served there? `longwatch serve --etcd-listen-client-urls URL` does so.';
    throw new VerbError(`Cannot reach ${endpoints.join(', ')}: ${err.message}`, next, { cause: err });
  }
}

type Tls = { readonly ca?: string; readonly cert?: string; readonly key?: string };

async function certificatesOf({ cacert, cert, key, kubeconfig, context }: SaveFlags): Promise<Tls | undefined> {
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--cert and --key belong together: give both or neither.');
  const [ca, own, secret] = await Promise.all(
    [cacert, cert, key].map((file) => (file === undefined ? undefined : readFile(file, 'utf8'))),
  );
  const given = { ...(ca && { ca }), ...(own && { cert: own }), ...(secret && { key: secret }) };
  if (kubeconfig === undefined) return Object.keys(given).length > 0 ? given : undefined;
  const { KubeConfig } = await import('../../../client/index.ts');
  const access = (await KubeConfig.load({ paths: [kubeconfig] })).access({ context });
  const authority = typeof access.authority === 'string' ? access.authority : await access.authority?.text();
  const identity = await access.credentials?.current?.();
  return {
    ...(authority !== undefined && { ca: authority }),
    ...(identity?.cert !== undefined && { cert: identity.cert, key: identity.key ?? '' }),
    ...given,
  };
}

/** The administrator's, as the server wrote it. */
function ownKubeconfig(folder: string): string {
  const file = join(folder, 'admin.kubeconfig');
  if (existsSync(file)) return file;
  throw new VerbError(
    `Cannot save ${JSON.stringify(folder)}: a server has it open, and its kubeconfig is not in the folder`,
    'Save online with --kubeconfig FILE, which is what --kubeconfig-out named, or stop the server first.',
  );
}

async function openFolder(dataDir: string): Promise<Store | 'in use'> {
  const folder = join(dataDir, 'store');
  if (!existsSync(folder))
    throw new VerbError(
      `Cannot save: there is no store in ${JSON.stringify(dataDir)}`,
      'Name the folder of a server that is stopped with --data-dir, or one that runs with --kubeconfig FILE.',
    );
  try {
    return await openEmbeddedStore({ dataDir: folder, autoCompaction: { mode: 'off' } });
  } catch (err) {
    if (!isStoreError(err, 'Locked')) throw err;
    return 'in use';
  }
}

/** Of what is written so far, under its own name or as a draft. */
async function sizeOf(file: string): Promise<number> {
  for (const name of [file, `${file}.${process.pid}.0.partial`]) {
    const found = await stat(name).catch(() => undefined);
    if (found) return found.size;
  }
  return 0;
}
