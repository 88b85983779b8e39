/** The thread of the etcd front: the store of the thread that started it, served as an etcd. */
import { type EtcdFront, openSharedStore, type Store, startEtcdFront } from '../../store/index.ts';
import {
  ASKED_OF_FRONT,
  type FrontCertificates,
  type FrontOrder,
  type FrontStarted,
  mayUse,
} from './etcd-front-messages.ts';
import { lineOfThread } from './thread-end.ts';

let running: { readonly front: EtcdFront; readonly store: Store } | undefined;
/** Told since the order to start. */
let newer: FrontCertificates | undefined;

lineOfThread({
  [ASKED_OF_FRONT.start]: start,
  [ASKED_OF_FRONT.setTls]: setTls,
  [ASKED_OF_FRONT.stop]: stop,
});

async function start({ urls, tls, store: port }: FrontOrder): Promise<FrontStarted> {
  const store = await openSharedStore(port);
  try {
    running = { store, front: await startEtcdFront(store, { urls, tls: { ...tls, mayUse } }) };
    if (newer) running.front.setTls(newer); // it came while this one was made
    return { urls: running.front.urls };
  } catch (err) {
    const { message, cause } = err as Error & { cause?: NodeJS.ErrnoException & { address?: string; port?: number } };
    const { code, syscall, address, port: at, message: why = '' } = cause ?? {};
    return {
      message,
      cause: {
        message: why,
        ...(code && { code }),
        ...(syscall && { syscall }),
        ...(address && { address }),
        ...(at && { port: at }),
      },
    };
  }
}

function setTls(tls: FrontCertificates): void {
  newer = tls;
  running?.front.setTls(tls);
}

async function stop(): Promise<void> {
  await running?.front[Symbol.asyncDispose]();
  await running?.store.close();
}
