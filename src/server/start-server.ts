/**
 * A whole server: store, caches, API, listener, put together and taken apart in the right order.
 *
 *   front (TLS, who, may they) → health · metrics · discovery · OpenAPI · resources → caches → store
 *
 * Several servers can run in one process; they share nothing. Closing ends watches cleanly, lets requests finish, and
 * leaves no timer, socket or file open.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { backgroundClock, closeOnce } from '../api/index.ts';
import { type EtcdFront, openEmbeddedStore, openEtcdStore, type Store, startEtcdFront } from '../store/index.ts';
import { openAuditLog } from './audit/audit-log.ts';
import { makeAccess } from './auth/access.ts';
import { bootstrap } from './bootstrap.ts';
import { DEFINITIONS } from './custom/definition.ts';
import { Definitions } from './custom/definitions.ts';
import { Discovery } from './discovery/discovery.ts';
import { Health } from './health/health.ts';
import type { Exchange } from './http/exchange.ts';
import { startFront } from './http/front.ts';
import { makeMetrics } from './metrics/metrics.ts';
import { requestMetrics } from './metrics/request-metrics.ts';
import { OpenApi } from './openapi/openapi.ts';
import { Aggregator } from './rbac/aggregation.ts';
import { RBAC_GROUP } from './rbac/rbac-authorizer.ts';
import { Registry } from './registry/registry.ts';
import { qualifiedName, type Resource } from './registry/resource.ts';
import { encodeStatus } from './rest/answer.ts';
import { handleResource } from './rest/resource-handler.ts';
import { Resources } from './rest/resources.ts';
import { Rest } from './rest/rest.ts';
import { WatchCrowd } from './rest/watch-keeper.ts';
import type { RunningServer, ServerOptions } from './server-options.ts';
import { ensureAdminToken, writeKubeconfig } from './serving/kubeconfig.ts';
import { loadTlsMaterial, type TlsMaterial, urlOf } from './serving/tls-material.ts';
import { handleOpenId } from './tokens/openid.ts';
import { addCacheMetrics, addStoreMetrics } from './watchcache/cache-metrics.ts';
import { defaultWindowLimits, type WindowLimits } from './watchcache/event-window.ts';

const DEFAULT_PORT = 6443;
const PAGE_NOT_FOUND = Buffer.from('404 page not found\n');

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const {
    bindAddress = '127.0.0.1',
    securePort = DEFAULT_PORT,
    log = (line) => process.stderr.write(`${line}\n`),
  } = options;
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const store = await openStore(options, dataDir, log);
  const closers: (() => void | Promise<void>)[] = [() => store.close()];
  const close = closeOnce(async () => {
    for (const closer of closers.reverse()) await closer();
  });
  try {
    const tls = loadTlsMaterial({
      dataDir,
      bindAddress,
      ...(options.tlsCertFile && { certFile: options.tlsCertFile }),
      ...(options.tlsPrivateKeyFile && { keyFile: options.tlsPrivateKeyFile }),
      ...(options.clientCaFile && { clientCaFile: options.clientCaFile }),
    });
    const token = ensureAdminToken(dataDir);
    const registry = new Registry();
    const root = options.etcd?.prefix ?? '/registry';
    const resources = new Resources({
      registry,
      store,
      root,
      clock: backgroundClock,
      log,
      windowLimits: (resource) => windowLimitsOf(options, resource),
    });
    const crowd = new WatchCrowd(options.minRequestTimeoutMs ?? 1_800_000, () => resources.caches());
    closers.push(
      () => resources.close(),
      () => crowd.close(),
    );
    const access = makeAccess(options, dataDir, token, resources, () => crowd.checkRights());
    const rest = new Rest({ resources, keeper: crowd, ...access });
    const aggregator = new Aggregator(resources.viewOf(RBAC_GROUP, 'clusterroles'), rest.writes, log);
    closers.push(() => aggregator.close());
    await bootstrap(rest);
    const definitions = new Definitions({ rest, log });
    closers.push(() => definitions.close());
    await definitions.start();

    const metrics = makeMetrics();
    addCacheMetrics(metrics, () => resources.caches());
    addStoreMetrics(metrics, store);
    const health = new Health(log);
    health.addCheck('store', async () => void (await store.revision()), ['readyz']);
    const discovery = new Discovery({ registry });
    const openApi = new OpenApi({ registry });
    let url = '';
    const handle = async (exchange: Exchange): Promise<void> => {
      if (await handleResource(rest, exchange)) return;
      if (discovery.handle(exchange) || openApi.handle(exchange)) return;
      if ((await health.handle(exchange)) || handleOpenId(exchange, access.tokens, () => url)) return;
      if (exchange.path === '/metrics') await metrics.handle(exchange);
      else exchange.send(404, 'text/plain; charset=utf-8', PAGE_NOT_FOUND);
    };

    let observer = requestMetrics(metrics);
    if (options.auditLogPath) {
      const audit = await openAuditLog(resolve(options.auditLogPath), observer, log);
      closers.push(() => audit.close());
      observer = audit.observer;
    }
    const front = await startFront({
      host: bindAddress,
      port: securePort,
      tls: { cert: tls.serving.certPem, key: tls.serving.keyPem, clientAuthorities: tls.clientAuthorities },
      authenticate: access.authenticate,
      authorizer: access.authorizer,
      handle,
      observer,
      encodeStatus,
      limits: {
        ...(options.maxRequestsInflight !== undefined && { maxReadOnly: options.maxRequestsInflight }),
        ...(options.maxMutatingRequestsInflight !== undefined && { maxMutating: options.maxMutatingRequestsInflight }),
        ...(options.requestTimeoutMs !== undefined && { requestTimeoutMs: options.requestTimeoutMs }),
      },
      log: (message, error) => log(error instanceof Error && error.stack ? `${message}\n${error.stack}` : message),
    });
    closers.push(() => {
      health.stop();
      return front.close();
    });
    url = urlOf(bindAddress, front.port);
    const etcdUrls: string[] = [];
    if (options.etcdListenClientUrls) {
      const etcdFront = await serveAsEtcd(options.etcdListenClientUrls, store, tls, options.etcd !== undefined);
      closers.push(async () => etcdFront[Symbol.asyncDispose]());
      etcdUrls.push(...etcdFront.urls);
    }
    const kubeconfigPath = resolve(options.kubeconfigOut ?? join(dataDir, 'admin.kubeconfig'));
    writeKubeconfig(kubeconfigPath, { server: url, authorityPem: tls.servingAuthorityPem, admin: tls.admin, token });
    return { url, kubeconfigPath, etcdUrls, close };
  } catch (err) {
    await close();
    throw err;
  }
}

/** Sizes of caches as the flags give them; the window still grows and shrinks by itself above that. */
function windowLimitsOf(options: ServerOptions, resource: Resource): WindowLimits | 'off' | undefined {
  const size = options.watchCacheSizes?.[qualifiedName(resource)] ?? options.defaultWatchCacheSize;
  // Who may do what, and which kinds there are, is decided from memory: without a cache there is nothing to decide from.
  const isNeeded = resource.group === RBAC_GROUP || qualifiedName(resource) === qualifiedName(DEFINITIONS);
  if ((options.watchCache === false || size === 0) && !isNeeded) return 'off';
  return !size ? undefined : { ...defaultWindowLimits, minEvents: size };
}

/** Its clients reach the store past all rules, so only those who may do everything anyway are let in. */
async function serveAsEtcd(
  urls: readonly string[],
  store: Store,
  tls: TlsMaterial,
  isEtcd: boolean,
): Promise<EtcdFront> {
  if (isEtcd) throw new Error('Cannot serve the store as etcd: it is one, let clients use it directly');
  const { certPem: cert, keyPem: key } = tls.serving;
  const mayUse = (organisations: readonly string[]) => organisations.includes('system:masters');
  return startEtcdFront(store, { urls, tls: { cert, key, clientAuthorities: tls.clientAuthorities, mayUse } });
}

function openStore(options: ServerOptions, dataDir: string, log: (line: string) => void): Promise<Store> {
  const { etcd, autoCompaction, durability } = options;
  if (etcd) {
    const { servers, caFile, certFile, keyFile } = etcd;
    const tls = {
      ...(caFile && { ca: readFileSync(caFile, 'utf8') }),
      ...(certFile && { cert: readFileSync(certFile, 'utf8') }),
      ...(keyFile && { key: readFileSync(keyFile, 'utf8') }),
    };
    return openEtcdStore({ endpoints: [...servers], ...(Object.keys(tls).length > 0 && { tls }) });
  }
  return openEmbeddedStore({
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
}
