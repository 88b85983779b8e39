/**
 * The store a server stands on, as its options say: the embedded one in the data folder, or an etcd.
 *
 * While an etcd does not answer, the log says so at once and then every few seconds, at the start and later. It fails
 * with a sentence that names the flags to look at.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isStoreError, openEmbeddedStore, openEtcdStore, type Store, StoreError } from '../store/index.ts';
import type { EtcdOptions, ServerOptions } from './server-options.ts';

type Log = (line: string) => void;

/** Between two lines about the same trouble. */
const SAY_AGAIN_MS = 5000;
/** An etcd that takes longer to answer the first call is worth a line, even if nothing has failed yet. */
const WORTH_SAYING_MS = 1000;

export async function openStore(options: ServerOptions, dataDir: string, log: Log): Promise<Store> {
  if (options.openStore) return options.openStore();
  const { etcd, autoCompaction, durability } = options;
  if (etcd) return openEtcd(etcd, log);
  try {
    return await openEmbeddedStore({
      dataDir: join(dataDir, 'store'),
      onFailure: (error) => log(`store failed: ${error.message}`),
      ...(durability && { durability }),
      ...(autoCompaction && {
        autoCompaction:
          autoCompaction.mode === 'periodic'
            ? autoCompaction
            : { mode: 'revision', retention: autoCompaction.retentionRevisions },
      }),
    });
  } catch (err) {
    if (!isStoreError(err, 'Locked')) throw err;
    throw new StoreError('Locked', `${err.message}; stop that one, or name another folder with --data-dir`, {
      cause: err,
    });
  }
}

async function openEtcd({ servers, caFile, certFile, keyFile }: EtcdOptions, log: Log): Promise<Store> {
  const tls = {
    ...(caFile && { ca: readPem(caFile, '--etcd-cafile') }),
    ...(certFile && { cert: readPem(certFile, '--etcd-certfile') }),
    ...(keyFile && { key: readPem(keyFile, '--etcd-keyfile') }),
  };
  const where = servers.join(', ');
  const say = sparingly(log);
  const slow = setTimeout(() => say(`waiting for etcd at ${where}`), WORTH_SAYING_MS);
  try {
    return await openEtcdStore({
      endpoints: [...servers],
      onRetry: ({ message }) => say(`cannot reach etcd: ${message}; trying again`),
      ...(Object.keys(tls).length > 0 && { tls }),
    });
  } catch (err) {
    if (!isStoreError(err, 'Unavailable')) throw err;
    const advice =
      'start it, or correct --etcd-servers and, for https, --etcd-cafile, --etcd-certfile and --etcd-keyfile';
    throw new Error(`Cannot reach etcd: ${reasonOf(err)}; ${advice}`, { cause: err });
  } finally {
    clearTimeout(slow);
  }
}

function readPem(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (err) {
    throw new Error(`Cannot read the file of ${flag}: ${(err as Error).message}`, { cause: err });
  }
}

function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message;
}

/** The first line at once, then no more than one in a while. */
function sparingly(log: Log): Log {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return (line) => {
    const now = performance.now();
    if (now - saidAtMs < SAY_AGAIN_MS) return;
    saidAtMs = now;
    log(line);
  };
}
