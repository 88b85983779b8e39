/**
 * A whole server for tests, in this process: storage in a folder of its own that goes with it, nothing flushed, on a
 * free port that stays its own, with clients that may do everything.
 *
 *     await using server = await startTestServer();
 *     await server.kube.resource(corev1.configMaps).create({ metadata: { name: 'a' } });
 *     await server.reset(); // as it was when it was ready, for the next test
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { closeOnce, liveBy } from '../../api/index.ts';
import { type InstallableCrd, readCrds } from '../../client/crd.ts';
import {
  apiextensionsv1,
  isApiError,
  KubeClient,
  type TransportOptions,
  tokenCredentials,
} from '../../client/index.ts';
import type { ManagedController } from '../../controller/index.ts';
import { connectLoopback, startControllers } from '../../controllers/index.ts';
import type { AutoCompactionOptions, RunningServer, RunningWorker, ServerOptions } from '../../server/index.ts';
import { startServer } from '../../server/index.ts';
import { type AutoCompaction, isStoreError, openEmbeddedStore, openEtcdStore, type Store } from '../../store/index.ts';
import { ApiClient, type ApiClientOptions } from '../api-client.ts';
import type { VirtualClock } from '../clocks/virtual-clock.ts';
import { watchedDial, watchedStore } from '../clocks/watched-work.ts';
import type { Patience } from '../eventually.ts';
import { type Baseline, baselineOf, resetStore } from './reset-store.ts';
import { imageOf, keepForNext, lendKeys, lendObjects } from './shared-start.ts';
import { whenReconciled } from './when-reconciled.ts';

/** With a `dataDir` the storage is the caller's, and stays. */
export type TestServerOptions = Partial<ServerOptions> & {
  /** Which controllers run beside it, as `--controllers` takes them: none. `[]` is what `longwatch serve` runs. */
  readonly controllers?: readonly string[];
  /** So many nodes that are only pretended: 0. */
  readonly pretendNodes?: number;
  /** Admission plugins beside those that run by default, and those that do not run though they would. */
  readonly admission?: { readonly enable?: readonly string[]; readonly disable?: readonly string[] };
  /** The whole process lives by it from the start of this server until its end: clients and controllers, too. */
  readonly clock?: VirtualClock;
};

const CRD_KEYS = { prefix: '/registry/apiextensions.k8s.io/customresourcedefinitions/' };

export class TestServer implements AsyncDisposable {
  readonly dataDir: string;
  /** What the server has logged. */
  readonly logged: string[] = [];
  readonly #options: TestServerOptions;
  readonly #clients: ApiClient[] = [];
  #running: RunningServer | undefined;
  #controllers: AsyncDisposable | undefined;
  /** A connection within the process. */
  readonly #dial: () => Duplex;
  #client: ApiClient | undefined;
  #kube: KubeClient | undefined;
  readonly #kubes: KubeClient[] = [];
  /** Its own, while it runs on one. */
  #store: Store | undefined;
  #baseline: Baseline | undefined;
  #leaveTime: () => void = () => {};
  /** The one it was given first, so that clients find it again. */
  #port = 0;
  /** The end of it, with its clients and its folder; what `await using` does. */
  readonly close: () => Promise<void> = closeOnce(() => this.#close());

  constructor(options: TestServerOptions) {
    this.#options = options;
    this.#dial = this.watched(() => {
      if (!this.#running) throw new Error('Cannot reach the test server: it is stopped');
      return this.#running.connectInProcess();
    });
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

  /** The time it lives by, if it was given one. */
  get clock(): VirtualClock {
    const { clock } = this.#options;
    if (!clock) throw new Error('Cannot turn the clock of the test server: it was started without one');
    return clock;
  }

  /** The administrator, by connections within the process: what is asked through it never waits for the system. */
  get kube(): KubeClient {
    this.#kube ??= this.connectKube();
    return this.#kube;
  }

  /** A connection within the process, for what stands between a client and the server. */
  dial(): Duplex {
    return this.#dial();
  }

  /** The same connections, for which a clock that is turned stands still while something goes through them. */
  watched(dial: () => Duplex): () => Duplex {
    const watched = watchedDial(dial);
    this.#options.clock?.waitFor(watched.isAtWork);
    return watched.dial;
  }

  /** Another such client, with options of its own; it is closed with the server. */
  connectKube(options: TransportOptions = {}): KubeClient {
    const { token } = credentialsOf(this.dataDir, this.kubeconfigPath);
    const dial = this.#dial;
    const server = new URL('http://localhost');
    const kube = new KubeClient(
      { server, namespace: 'default', dial, credentials: tokenCredentials(token) },
      { userAgent: 'longwatch-test', ...options },
    );
    this.#kubes.push(kube);
    return kube;
  }

  /** Resolves when objects of the kind can be made; again is the same as once. No time has to pass for it. */
  async installCrd(definition: InstallableCrd): Promise<void> {
    const api = this.kube.resource(apiextensionsv1.customResourceDefinitions);
    for (const crd of await readCrds(definition)) {
      await api.apply(crd as never, { fieldManager: 'longwatch-test', force: true });
      for (const path of pathsOf(crd.spec)) await this.#untilServed(path, true);
    }
    for (const kube of this.#kubes) kube.discovery.forget();
  }

  /**
   * Everything as it was when the server was first ready: what was made since is gone, what was changed or deleted is
   * back. Watches live on and are told of it; versions go on. Controllers that run beside the server may be making anew what they
   * always make.
   */
  async reset(): Promise<void> {
    const [store, baseline] = [this.#store, this.#baseline];
    if (!store || !baseline) throw new Error('Cannot reset the test server: it is stopped, or its data is not its own');
    const { kvs } = await store.range(CRD_KEYS);
    const gone = kvs
      .filter(({ key }) => !baseline.has(key))
      .flatMap(({ value }) => pathsOf(JSON.parse(Buffer.from(value).toString('utf8')).spec));
    await resetStore(store, baseline);
    for (const path of gone) await this.#untilServed(path, false);
    for (const kube of this.#kubes) kube.discovery.forget();
  }

  /** The objects that every cluster begins with, by their keys, as the build keeps them for the next start. */
  async firstObjects(): Promise<Record<string, string>> {
    return this.#store ? Object.fromEntries(await imageOf(this.#store)) : {};
  }

  /** When a controller has dealt with an object as it is now: see `when-reconciled.ts`. */
  whenReconciled(controller: ManagedController, key: string, patience?: Patience): Promise<void> {
    return whenReconciled(this.kube, controller, key, patience);
  }

  /** The administrator, over HTTP/1.1 and a socket. */
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
    const { controllers, pretendNodes = 0, admission, clock, ...given } = this.#options;
    const options = {
      ...given,
      ...(admission?.enable && { enableAdmissionPlugins: admission.enable }),
      ...(admission?.disable && { disableAdmissionPlugins: admission.disable }),
    };
    if (clock) this.#leaveTime = liveBy(clock);
    const isOwn = this.#options.dataDir === undefined && !options.etcd && !options.openStore;
    const isNew = isOwn && this.#baseline === undefined;
    if (isNew) lendKeys(this.dataDir);
    const opening = isOwn ? { openStore: () => this.#openStore(clock) } : {};
    const hasControllers = controllers !== undefined || pretendNodes > 0;
    const own = hasControllers ? { controllersToken: randomBytes(32).toString('base64url') } : {};
    const running = await inTurn(() =>
      startServer({
        securePort: this.#port,
        durability: 'none',
        log,
        ...own,
        ...options,
        ...opening,
        dataDir: this.dataDir,
      }),
    );
    this.#running = running;
    await running.joined;
    this.#port = Number(new URL(running.url).port);
    if (isNew && this.#store) await keepForNext(this.dataDir, this.#store);
    if (own.controllersToken !== undefined) await this.#startControllers(running, own.controllersToken, log);
    if (this.#store) this.#baseline ??= await baselineOf(this.#store);
  }

  async #startControllers(running: RunningServer, token: string, log: (line: string) => void): Promise<void> {
    const { controllers, pretendNodes = 0 } = this.#options;
    const { kubeconfigPath } = running;
    const dial = this.#dial;
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
    this.#store = undefined;
    await running?.close();
    this.#leaveTime();
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // Connections first: a test that is over waits for nobody.
    for (const client of this.#clients.splice(0)) client.close();
    for (const kube of this.#kubes.splice(0)) await kube.close();
    await this.stop();
    if (this.#options.dataDir === undefined) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #openStore(clock: VirtualClock | undefined): Promise<Store> {
    const { autoCompaction } = this.#options;
    const { store, isAtWork, untilAnswered } = watchedStore(
      await openEmbeddedStore({
        dataDir: join(this.dataDir, 'store'),
        durability: this.#options.durability ?? 'none',
        onFailure: (error) => void this.logged.push(`store failed: ${error.message}`),
        ...(autoCompaction && { autoCompaction: compactionOf(autoCompaction) }),
      }),
    );
    clock?.waitFor(isAtWork, untilAnswered);
    if (this.#baseline === undefined) await lendObjects(store);
    this.#store = store;
    return store;
  }

  async #untilServed(path: string, isServed: boolean): Promise<void> {
    const isThere = () =>
      this.kube.transport.request('GET', path, { query: { limit: 1 } }).then(
        () => true,
        (err: unknown) => {
          if (isApiError(err, 'NotFound')) return false;
          throw err;
        },
      );
    while ((await isThere()) !== isServed) await new Promise((resolve) => setImmediate(resolve));
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

function compactionOf(options: AutoCompactionOptions): AutoCompaction {
  return options.mode === 'periodic' ? options : { mode: 'revision', retention: options.retentionRevisions };
}

/** Where its objects are, in each version that is served. */
function pathsOf({ group, names, versions }: apiextensionsv1.CustomResourceDefinition['spec']): string[] {
  return versions.filter(({ served }) => served).map(({ name }) => `/apis/${group}/${name}/${names.plural}`);
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
