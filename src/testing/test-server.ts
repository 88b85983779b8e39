/**
 * A whole server for tests, in this process: storage in a folder of its own that goes with it, nothing flushed, on a
 * free port, with a client that may do everything.
 *
 *     await using server = await startTestServer();
 *     await server.client.create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLoopback, startControllers } from '../controllers/index.ts';
import type { RunningServer, RunningWorker, ServerOptions } from '../server/index.ts';
import { startServer } from '../server/index.ts';
import { isStoreError, openEmbeddedStore, openEtcdStore, type Store } from '../store/index.ts';
import { ApiClient, type ApiClientOptions } from './api-client.ts';

/** With a `dataDir` the storage is the caller's, and stays. */
export type TestServerOptions = Partial<ServerOptions> & {
  /** Which controllers run beside it, as `--controllers` takes them: none. `[]` is what `longwatch serve` runs. */
  readonly controllers?: readonly string[];
  /** So many nodes that are only pretended: 0. */
  readonly pretendNodes?: number;
};

export class TestServer implements AsyncDisposable {
  readonly dataDir: string;
  /** What the server has logged. */
  readonly logged: string[] = [];
  readonly #options: TestServerOptions;
  readonly #clients: ApiClient[] = [];
  #running: RunningServer | undefined;
  #controllers: AsyncDisposable | undefined;
  #client: ApiClient | undefined;
  /** The one it was given first, so that clients find it again. */
  #port = 0;

  constructor(options: TestServerOptions) {
    this.#options = options;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'longwatch-test-'));
  }

  get url(): string {
    if (!this.#running) throw new Error('Cannot reach the test server: it is stopped');
    return this.#running.url;
  }

  /** Where its store is served as an etcd, if it is told to. */
  get etcdUrls(): readonly string[] {
    return this.#running?.etcdUrls ?? [];
  }

  /** The threads that serve, with `workers`. */
  get workers(): readonly RunningWorker[] {
    return this.#running?.workers() ?? [];
  }

  get kubeconfigPath(): string {
    return this.#running?.kubeconfigPath ?? join(this.dataDir, 'admin.kubeconfig');
  }

  /** The administrator, over HTTP/1.1. */
  get client(): ApiClient {
    this.#client ??= this.connect();
    return this.#client;
  }

  /** Another client, the administrator if not told otherwise; it is closed with the server. */
  connect(options: Partial<ApiClientOptions> = {}): ApiClient {
    const client = new ApiClient({ ...credentialsOf(this.dataDir, this.kubeconfigPath), url: this.url, ...options });
    this.#clients.push(client);
    return client;
  }

  async start(): Promise<void> {
    if (this.#running) return;
    const log = (line: string) => void this.logged.push(line);
    const { controllers, pretendNodes = 0, ...options } = this.#options;
    const hasControllers = controllers !== undefined || pretendNodes > 0;
    const own = hasControllers ? { controllersToken: randomBytes(32).toString('base64url') } : {};
    const running = await inTurn(() =>
      startServer({ securePort: this.#port, durability: 'none', log, ...own, ...options, dataDir: this.dataDir }),
    );
    this.#running = running;
    this.#port = Number(new URL(running.url).port);
    if (own.controllersToken === undefined) return;
    const { kubeconfigPath, connectInProcess: dial } = running;
    const token = own.controllersToken;
    const { client, clientFor, authorityPem } = await connectLoopback({ kubeconfigPath, token, dial });
    const names = controllers ?? ['-*'];
    const beside = startControllers(client, {
      controllers: names,
      pretendNodes,
      authorityPem,
      clientFor,
      onError: log,
      startMs: 20,
      stopMs: 20,
    });
    this.#controllers = {
      async [Symbol.asyncDispose]() {
        await beside[Symbol.asyncDispose]();
        await client.close();
      },
    };
    await beside.ready();
  }

  /** Gracefully, with everything kept; `start` brings it back under the same address. */
  async stop(): Promise<void> {
    await this.#controllers?.[Symbol.asyncDispose]();
    this.#controllers = undefined;
    const running = this.#running;
    this.#running = undefined;
    this.#client = undefined;
    await running?.close();
    for (const client of this.#clients.splice(0)) client.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /**
   * Restarts it with its state but without its history: who goes on from before the last change is told 410. Returns the
   * version of that change.
   */
  async expireHistory(): Promise<string> {
    await this.stop();
    const revision = await this.#withStore(async (store) => {
      const last = await store.revision();
      await store.compact(last).catch((err) => {
        if (!isStoreError(err, 'Compacted')) throw err; // there was none
      });
      return last;
    });
    await this.start();
    return String(revision);
  }

  /** Restarts it without its objects; certificates and tokens stay. Versions begin anew. */
  async loseData(): Promise<void> {
    if (this.#options.etcd) throw new Error('Cannot lose the data of the test server: it is in etcd');
    await this.stop();
    rmSync(join(this.dataDir, 'store'), { recursive: true, force: true });
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Connections first: a test that is over waits for nobody.
    for (const client of this.#clients.splice(0)) client.close();
    await this.stop();
    if (this.#options.dataDir === undefined) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** While it is stopped. */
  async #withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const { etcd } = this.#options;
    const dataDir = join(this.dataDir, 'store');
    const store = etcd
      ? await openEtcdStore({ endpoints: [...etcd.servers] })
      : await openEmbeddedStore({ dataDir, durability: 'none', autoCompaction: { mode: 'off' } });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = new TestServer(options);
  try {
    await server.start();
    return server;
  } catch (err) {
    await server[Symbol.asyncDispose]();
    throw err;
  }
}

/** How the administrator of a server with this data folder gets in. */
export function credentialsOf(dataDir: string, kubeconfigPath: string): { ca: string; token: string } {
  const authority = /certificate-authority-data: (\S+)/.exec(readFileSync(kubeconfigPath, 'utf8'))?.[1] ?? '';
  return {
    ca: Buffer.from(authority, 'base64').toString('utf8'),
    token: readFileSync(join(dataDir, 'admin.token'), 'utf8').trim(),
  };
}

const TAKEN_TRIES = 100;
const TAKEN_PAUSE_MS = 50;

/** While it was away, an outgoing connection of some other process may have been given its port for a moment. */
async function inTurn<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      const { code, cause } = error as { code?: string; cause?: { code?: string } };
      const isTaken = code === 'EADDRINUSE' || cause?.code === 'EADDRINUSE';
      if (!isTaken || tries === TAKEN_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, TAKEN_PAUSE_MS));
    }
  }
}
