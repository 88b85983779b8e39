/**
 * A snapshot of a store that is in use, over etcd's protocol, or of one in a folder that nobody has open.
 *
 * Always true: the file is whole and on the disk, or it is not there. Certificates come from files or, for a server of
 * ours, from its kubeconfig. A folder that a server has open is refused with what to do instead.
 */

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../../store/index.ts';
import { isStoreError, openEmbeddedStore, openEtcdStore } from '../../../store/index.ts';
import { Progress } from '../../terminal/progress.ts';
import { UsageError, type Verb, VerbError } from '../../terminal/run-verb.ts';
import { showBytes } from '../../terminal/table.ts';

export type SaveFlags = {
  readonly endpoints?: string[];
  readonly dataDir: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output?: 'json';
};

const LOOK_MS = 200;
/** For the first answer: whoever is not there by then is not there. */
const REACH_MS = 4000;

export function save(file: string, flags: SaveFlags): Verb {
  return async (io) => {
    await using store = flags.endpoints ? await openOnline(flags.endpoints, flags) : await openFolder(flags.dataDir);
    const { sizeInUseBytes, revision } = await store.status({ signal: io.signal });
    using progress = new Progress(io, 'saving');
    const look = setInterval(async () => {
      const bytes = await sizeOf(file);
      progress.show(Math.min(0.99, bytes / Math.max(1, sizeInUseBytes)), showBytes(bytes));
    }, LOOK_MS);
    try {
      const info = await store.snapshot(file, { signal: io.signal });
      clearInterval(look);
      progress[Symbol.dispose]();
      const at = info.revision ?? revision; // etcd does not say: at least this one
      if (flags.output === 'json') io.print(JSON.stringify({ file, ...info, revision: at }));
      else
        io.print(
          `saved ${file}: ${showBytes(info.bytes)}, revision ${at}${info.revision === undefined ? ' or later' : ''}, sha256 ${info.sha256}`,
        );
    } finally {
      clearInterval(look);
    }
  };
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

async function openFolder(dataDir: string): Promise<Store> {
  const folder = join(dataDir, 'store');
  if (!existsSync(folder))
    throw new VerbError(
      `Cannot save: there is no store in ${JSON.stringify(dataDir)}`,
      'Name the folder of a server with --data-dir, or where one is served with --endpoints URL.',
    );
  try {
    return await openEmbeddedStore({ dataDir: folder, autoCompaction: { mode: 'off' } });
  } catch (err) {
    if (!isStoreError(err, 'Locked')) throw err;
    throw new VerbError(
      `Cannot save ${JSON.stringify(dataDir)}: a server has it open`,
      'Start it with --etcd-listen-client-urls URL and save online with --endpoints URL, or stop it first.',
      { cause: err },
    );
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
