/**
 * A server of several threads: this one is the owner, with the store and all that is done once; workers serve.
 *
 *   owner    bind the port ─► store, bootstrap, controllers, serve ─► start the workers ─► yield the port to them
 *   worker   shared store ─► the same server as any ─► listen on a copy of the port's socket
 *
 * Always true: it is ready as soon as a server of one thread is. From when all workers listen the owner takes no connection
 * more, and those that it has are asked to come again. Closing stops the workers first, then what is done once, then the
 * store; the port is free after that. Where the port cannot be shared the owner goes on alone, and says so.
 */
import { randomBytes } from 'node:crypto';
import { closeOnce } from '../../api/index.ts';
import type { RunningServer, ServerOptions } from '../server-options.ts';
import { listenError } from '../serving/listen-error.ts';
import { logToStderr } from '../serving/stderr-log.ts';
import { mergeMetrics } from './merge-metrics.ts';
import { type Inside, type Place, SECRET_BYTES, type Shown, type Whole } from './place.ts';
import { bindPort, copySocket, type SocketHandle } from './port/bound-port.ts';
import { SeatTable } from './seat-table.ts';
import { ASKED_OF_OWNER, ASKED_OF_WORKER, crossing } from './worker-messages.ts';
import { WorkerPool } from './worker-pool.ts';

export type RunningThread = RunningServer & {
  readonly inside: Inside;
  readonly audit: ((line: string) => void) | undefined;
};
export type StartThread = (options: ServerOptions, place: Place) => Promise<RunningThread>;

export async function serveWithWorkers(
  options: ServerOptions,
  count: number,
  defaults: { readonly bindAddress: string; readonly securePort: number },
  startThread: StartThread,
): Promise<RunningServer> {
  const { bindAddress = defaults.bindAddress, securePort = defaults.securePort, log = logToStderr } = options;
  const bound = await bindPort(bindAddress, securePort).catch((err: unknown) => {
    const isAboutPort = (err as NodeJS.ErrnoException).code !== undefined;
    throw isAboutPort ? listenError(err, bindAddress, securePort, '--bind-address and --secure-port') : err;
  });
  let owner: RunningThread | undefined;
  const whole: Whole = {
    async metricsText() {
      const own = owner ? [await owner.inside.metricsText()] : [];
      return mergeMetrics([...own, ...(await pool.askAll<string>(ASKED_OF_WORKER.metrics))]);
    },
    async watches() {
      const others = await pool.askAll<readonly Shown[]>(ASKED_OF_WORKER.watches);
      return [...(owner?.inside.watches() ?? []), ...others.flat()];
    },
    async expirations() {
      const others = await pool.askAll<readonly Shown[]>(ASKED_OF_WORKER.expirations);
      return [...(owner?.inside.expirations() ?? []), ...others.flat()];
    },
    async endWatch(name) {
      if (owner?.inside.endWatch(name)) return true;
      return (await pool.askAll<boolean>(ASKED_OF_WORKER.endWatch, name)).includes(true);
    },
  };
  const seatMemory = SeatTable.memoryFor(count + 1);
  const seats = new SeatTable(seatMemory, 0, count + 1);
  const pool = new WorkerPool({
    count,
    seatMemory,
    seats,
    answers: {
      [ASKED_OF_OWNER.metrics]: () => whole.metricsText(),
      [ASKED_OF_OWNER.watches]: () => whole.watches(),
      [ASKED_OF_OWNER.expirations]: () => whole.expirations(),
      [ASKED_OF_OWNER.endWatch]: (name: string) => whole.endWatch(name),
      [ASKED_OF_OWNER.log]: (line: string) => log(line),
      [ASKED_OF_OWNER.audit]: (line: string) => owner?.audit?.(line),
    },
    log: (line) => log(`longwatch: ${line}`),
  });
  let kept: SocketHandle | undefined;
  let isClosing = false;
  const close = closeOnce(async () => {
    isClosing = true;
    const stopped = pool.close();
    kept?.close(); // the port is free when the last of the others stops listening
    await stopped;
    if (owner) await owner.close();
    else bound.handle.close();
  });
  const join = async ({ inside }: RunningThread, secret: Uint8Array): Promise<void> => {
    const { store, serveFeed } = inside;
    const { handle, port } = bound;
    kept = await copySocket(handle.fd);
    if (isClosing) return kept.close();
    const order = { options: crossing(options), store, serveFeed, fd: kept.fd, port, secret };
    if (await pool.serve(order)) inside.yieldPort();
  };
  let joined: Promise<void>;
  try {
    const { port, handle } = bound;
    const secret = randomBytes(SECRET_BYTES);
    const { shutdownDelayMs: _delay, ...lasting } = options; // the workers wait, and serve meanwhile
    owner = await startThread(lasting, {
      number: 0,
      isOwner: true,
      seats,
      listening: { kind: 'handle', handle, port },
      secret,
      whole,
    });
    joined = join(owner, secret).catch((err: unknown) =>
      log(`longwatch: cannot start workers: ${(err as Error).message}; one thread serves`),
    );
  } catch (err) {
    await close();
    throw err;
  }
  const { url, kubeconfigPath, connectInProcess, etcdUrls, reload } = owner;
  return {
    url,
    kubeconfigPath,
    connectInProcess,
    etcdUrls,
    workers: () => pool.workers(),
    joined,
    reload: () => {
      reload();
      pool.tellAll(ASKED_OF_WORKER.reload);
    },
    close,
  };
}
