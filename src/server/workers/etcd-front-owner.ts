/**
 * The etcd front in a thread of its own, over the store of this one: a loud client of it holds up no request of the API, nor
 * the other way round.
 *
 * Always true: it is served at the addresses of the first start. A thread that dies takes its connections along and nothing
 * else: another serves at the same addresses, at once, or after a pause if such do not live long or the port is taken. What
 * was answered is in the store. It fails as the front does, but only the first time; later it says so in the log and
 * tries again.
 */
import { MessageChannel } from 'node:worker_threads';
import { closeOnce } from '../../api/index.ts';
import { type EtcdFront, type Store, shareStore } from '../../store/index.ts';
import { ASKED_OF_FRONT, type FrontCertificates, type FrontOrder, type FrontStarted } from './etcd-front-messages.ts';
import { Replacing, ServerThread } from './server-thread.ts';

export type FrontThreadOptions = {
  readonly store: Store;
  readonly urls: readonly string[];
  readonly tls: FrontCertificates;
  readonly log: (line: string) => void;
};

export type EtcdFrontInThread = EtcdFront & {
  /** As if it had died. */
  terminate(): Promise<void>;
};

export async function startFrontInThread(options: FrontThreadOptions): Promise<EtcdFrontInThread> {
  const owner = new FrontOwner(options);
  try {
    await owner.start();
  } catch (err) {
    await owner[Symbol.asyncDispose]();
    throw err;
  }
  return owner;
}

class FrontOwner implements EtcdFrontInThread {
  readonly #store: Store;
  readonly #log: (line: string) => void;
  readonly #replacing = new Replacing();
  #urls: readonly string[];
  #tls: FrontCertificates;
  #thread: ServerThread | undefined;
  #isClosed = false;
  #waiting: NodeJS.Timeout | undefined;

  constructor({ store, urls, tls, log }: FrontThreadOptions) {
    this.#store = store;
    this.#urls = urls;
    this.#tls = tls;
    this.#log = log;
  }

  get urls(): readonly string[] {
    return this.#urls;
  }

  setTls(tls: FrontCertificates): void {
    this.#tls = tls;
    this.#thread?.line.tell(ASKED_OF_FRONT.setTls, tls);
  }

  async terminate(): Promise<void> {
    await this.#thread?.terminate();
  }

  readonly [Symbol.asyncDispose]: () => Promise<void> = closeOnce(async () => {
    this.#isClosed = true;
    clearTimeout(this.#waiting);
    await this.#thread?.line.ask(ASKED_OF_FRONT.stop).catch(() => {}); // one that is gone has stopped
    await this.#thread?.terminate();
  });

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const thread = new ServerThread('etcd-front', {});
    this.#thread = thread;
    const { port1, port2 } = new MessageChannel();
    const share = shareStore(this.#store, port1);
    void thread.ended.then(() => share.detach());
    const order: FrontOrder = { urls: this.#urls, tls: this.#tls, store: port2 };
    try {
      const started = await thread.line.ask<FrontStarted>(ASKED_OF_FRONT.start, order, [port2]);
      if ('message' in started) throw new Error(started.message, { cause: started.cause });
      this.#urls = started.urls;
    } catch (err) {
      await thread.terminate();
      throw err;
    }
    void thread.ended.then(({ code, reason, livedMs }) => {
      if (!this.#isClosed) this.#replace(`has ended with code ${code}${reason}`, livedMs);
    });
  }

  #replace(why: string, livedMs: number): void {
    this.#log(`longwatch: the thread of the etcd front ${why}; another takes its place`);
    const startAnother = () => {
      this.start().catch((err: Error) => {
        if (!this.#isClosed) this.#replace(`did not start: ${err.message}`, 0);
      });
    };
    this.#waiting = setTimeout(startAnother, this.#replacing.pauseAfter(livedMs)).unref();
  }
}
