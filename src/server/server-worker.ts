/**
 * The thread of a worker: a server like any other, on the store of the thread that started it and on a copy of its port.
 *
 * Whatever it cannot do ends it, and its owner starts another; an error that nobody caught is told in the log first.
 */
import { hardwareClock } from '../api/clock.ts';
import { openSharedStore } from '../store/index.ts';
import { startThread } from './start-server.ts';
import type { Listening, Shown } from './workers/place.ts';
import { copySocket } from './workers/port/bound-port.ts';
import { PortShare } from './workers/port/port-share.ts';
import { SocketCopies } from './workers/port/socket-copies.ts';
import { SeatTable } from './workers/seat-table.ts';
import type { RunningThread } from './workers/serve-with-workers.ts';
import { lineOfThread } from './workers/thread-end.ts';
import { ASKED_OF_OWNER, ASKED_OF_WORKER, type StartOrder } from './workers/worker-messages.ts';

let server: RunningThread | undefined;

const line = lineOfThread({
  [ASKED_OF_WORKER.start]: start,
  [ASKED_OF_WORKER.stop]: () => server?.close(),
  [ASKED_OF_WORKER.reload]: () => server?.reload(),
  [ASKED_OF_WORKER.metrics]: () => server?.inside.metricsText(),
  [ASKED_OF_WORKER.watches]: () => server?.inside.watches(),
  [ASKED_OF_WORKER.expirations]: () => server?.inside.expirations(),
  [ASKED_OF_WORKER.endWatch]: (name: string) => server?.inside.endWatch(name),
});

async function start({ options, number, secret, store: storePort, fd, port, ...order }: StartOrder): Promise<void> {
  const seats = new SeatTable(order.seats, order.seat, order.threads);
  const [store, listening] = await Promise.all([openSharedStore(storePort), listeningOn(fd, port, seats)]);
  server = await startThread(
    { ...options, log: (text) => line.tell(ASKED_OF_OWNER.log, text) },
    {
      number,
      isOwner: false,
      seats,
      secret,
      store,
      beside: store.beside,
      listening,
      whole: {
        metricsText: () => line.ask<string>(ASKED_OF_OWNER.metrics),
        watches: () => line.ask<readonly Shown[]>(ASKED_OF_OWNER.watches),
        expirations: () => line.ask<readonly Shown[]>(ASKED_OF_OWNER.expirations),
        endWatch: (name) => line.ask<boolean>(ASKED_OF_OWNER.endWatch, name),
      },
      audit: (text) => line.tell(ASKED_OF_OWNER.audit, text),
    },
  );
}

async function listeningOn(fd: number, port: number, seats: SeatTable): Promise<Listening> {
  if (seats.threads === OWNER_AND_ONE) return { kind: 'handle', handle: await copySocket(fd), port };
  const { first, copies } = await SocketCopies.open(fd, hardwareClock);
  const share = PortShare.of(seats, copies, hardwareClock);
  if (!share) await copies.close();
  return { kind: 'handle', handle: first, port, share };
}

const OWNER_AND_ONE = 2;
