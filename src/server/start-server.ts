/**
 * A whole server: store, caches, API, listener, put together and taken apart in the right order.
 *
 *   HTTP server, handler chain → health · metrics · discovery · OpenAPI · resources → caches → store
 *
 * Several servers can run in one process; they share nothing. Closing ends watches cleanly, lets requests finish, and
 * leaves no timer, socket or file open.
 */
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { backgroundClock, closeOnce, hardwareClock, systemClock } from '../api/index.ts';
import { makeAccess } from './access.ts';
import { webhookConditions } from './admission/expressions/webhook-conditions.ts';
import { makeAdmissionChain } from './admission/make-chain.ts';
import { AdmissionPolicies } from './admission/policies/admission-policies.ts';
import { resourceQuota } from './admission/quota/resource-quota.ts';
import { makeWebhooks } from './admission/webhooks/make-webhooks.ts';
import { ApiAggregator } from './aggregation/aggregator.ts';
import { publishAuthenticationInfo } from './aggregation/authentication-info.ts';
import { serviceLookup } from './aggregation/service-lookup.ts';
import { converters } from './apiextensions/definition-conversion.ts';
import { auditedBy, openAuditLog } from './audit/audit-log.ts';
import { requestLog } from './audit/request-log.ts';
import { readTokenFile } from './auth/bearer-tokens.ts';
import { bootstrap, untilFilled } from './bootstrap.ts';
import { IdentityLease, publishTokenTracking } from './cluster/identity-lease.ts';
import { publishOwnService } from './cluster/own-service.ts';
import { ServiceAddressKeeper } from './cluster/service-address-keeper.ts';
import { ClusterRoleAggregator } from './controllers/cluster-role-aggregation.ts';
import { CrdController } from './controllers/crd/crd-controller.ts';
import { PolicyTypeChecking } from './controllers/policy-type-checking.ts';
import { QuotaStatus } from './controllers/quota-status.ts';
import { Discovery } from './discovery/discovery.ts';
import { handleFlowDump } from './flow-control/debug-dumps.ts';
import { systemTimer } from './flow-control/fair-queuing/seat-timer.ts';
import { type FlowControl, startFlowControl } from './flow-control/flow-control.ts';
import { FlowMetrics } from './flow-control/flow-metrics.ts';
import { Health } from './health/health.ts';
import { StartHooks } from './health/start-hooks.ts';
import { addStoreChecks } from './health/store-checks.ts';
import { startHttpServer } from './http/http-server.ts';
import { Expirations } from './introspection/expirations.ts';
import { serveIntrospection } from './introspection/introspection.ts';
import { snapshotHandler } from './introspection/store-snapshot.ts';
import { WatcherMetrics } from './introspection/watcher-metrics.ts';
import { watchSource } from './introspection/watches.ts';
import { convertVersion } from './kinds/conversion.ts';
import { accessMetrics } from './metrics/access-metrics.ts';
import { addCertificateMetrics } from './metrics/certificate-metrics.ts';
import { makeMetrics } from './metrics/metrics.ts';
import { requestMetrics } from './metrics/request-metrics.ts';
import { openStore } from './open-store.ts';
import { OpenApi } from './openapi/openapi.ts';
import { OutboundConnections } from './outbound/outbound-connections.ts';
import { type Address, serviceResolver } from './outbound/service-resolver.ts';
import { RBAC_GROUP } from './rbac/rbac-authorizer.ts';
import { Registry } from './registry/registry.ts';
import type { RequestContext } from './request/request-context.ts';
import { encodeStatus } from './rest/output/answer.ts';
import type { Expiry } from './rest/reading/expiry.ts';
import { WatchTracker } from './rest/reading/watch-tracker.ts';
import { handleResource } from './rest/resource-handler.ts';
import { Rest } from './rest/rest.ts';
import { quotaStore } from './rest/writing/quota-store.ts';
import type { RunningServer, ServerOptions } from './server-options.ts';
import { prepareDataFolder } from './serving/data-folder.ts';
import { ensureAdminToken, writeKubeconfig } from './serving/kubeconfig.ts';
import { listenError } from './serving/listen-error.ts';
import { keepReloading, Reloading } from './serving/reloading.ts';
import { logToStderr } from './serving/stderr-log.ts';
import { loadTlsMaterial, type TlsMaterial, urlOf } from './serving/tls-material.ts';
import { addCacheMetrics, addStoreMetrics } from './storage/cacher/cache-metrics.ts';
import { ObjectFeed } from './storage/feed/feed-reflector.ts';
import { serveFeed } from './storage/feed/object-feed.ts';
import { SharedMemory } from './storage/objects/object-memory.ts';
import { ResourceStorages } from './storage/resource-storages.ts';
import { historyOf, serveAsEtcd } from './store-doors.ts';
import { authenticationInfoOf, settingsOf, tlsFilesOf } from './tls-options.ts';
import { handleOpenId } from './tokens/openid.ts';
import { Ui } from './ui/ui.ts';
import { watchCacheLimitsOf } from './watch-cache-sizes.ts';
import { ALONE, type Inside, type Place, SECRET_BYTES } from './workers/place.ts';
import { type RunningThread, serveWithWorkers } from './workers/serve-with-workers.ts';
import { SharedBytes } from './workers/shared-bytes.ts';

const DEFAULT_ADDRESS = '127.0.0.1';
const DEFAULT_PORT = 6443;
const PAGE_NOT_FOUND = Buffer.from('404 page not found\n');

export function startServer(options: ServerOptions): Promise<RunningServer> {
  const { workers = 0 } = options;
  if (workers === 0) return startThread(options, ALONE);
  return serveWithWorkers(options, workers, { bindAddress: DEFAULT_ADDRESS, securePort: DEFAULT_PORT }, startThread);
}

/** One thread of a server, or all of it: what it does and what others do is said by its place. */
export async function startThread(options: ServerOptions, place: Place): Promise<RunningThread> {
  const { bindAddress = DEFAULT_ADDRESS, securePort = DEFAULT_PORT, log = logToStderr } = options;
  const { isOwner, listening, whole } = place;
  const dataDir = resolve(options.dataDir);
  const kubeconfigPath = resolve(options.kubeconfigOut ?? join(dataDir, 'admin.kubeconfig'));
  prepareDataFolder(dataDir, { named: [options.kubeconfigOut, options.auditLogPath], log });
  const store = place.store ?? (await openStore(options, dataDir, log));
  const closers: (() => void | Promise<void>)[] = [() => store.close()];
  const close = closeOnce(async () => {
    for (const closer of closers.reverse()) await closer();
  });
  try {
    // Whoever is no owner finds made what is to be made.
    const tlsFiles = { ...tlsFilesOf(options, dataDir, bindAddress, log), isRunning: !isOwner };
    const tls = loadTlsMaterial(tlsFiles);
    const token = ensureAdminToken(dataDir, options.durability);
    const health = new Health(log);
    addStoreChecks(health, store, options.etcd === undefined);
    const hooks = new StartHooks(health);
    const registry = new Registry();
    const root = options.etcd?.prefix ?? '/registry';
    const storages = new ResourceStorages({
      registry,
      store,
      root,
      clock: backgroundClock,
      ...(isOwner && whole && { memory: new SharedMemory() }),
      feed: place.beside && new ObjectFeed(place.beside),
      log,
      eventTtlSeconds: options.eventTtlSeconds,
      watchCacheLimits: (resource) => watchCacheLimitsOf(options, resource),
    });
    const tracker = new WatchTracker(options.minRequestTimeoutMs ?? 1_800_000, () => storages.cachers());
    closers.push(
      () => storages.close(),
      () => tracker.close(),
    );
    const access = makeAccess(options, dataDir, token, storages, () => tracker.checkRights());
    const { enableAdmissionPlugins: enabled = [], disableAdmissionPlugins: disabled = [] } = options;
    const metrics = makeMetrics();
    const { authorizer } = access;
    let self: Address | undefined;
    const routesToEndpoints = options.enableAggregatorRouting === true;
    const resolveService = serviceResolver(serviceLookup(storages, { self: () => self, routesToEndpoints }));
    const outbound = new OutboundConnections(resolveService);
    closers.push(() => outbound.close());
    const policies = new AdmissionPolicies({ storages, authorizer, metrics, convert: convertVersion, log });
    const webhooks = makeWebhooks({
      storages,
      connections: outbound,
      judgeConditions: webhookConditions(authorizer),
      convert: convertVersion,
      metrics,
      log,
    });
    const followers = [...policies.plugins, ...webhooks.plugins, resourceQuota(quotaStore(() => rest))];
    const resourceOf = (apiVersion: string, kind: string) => {
      const [version = '', group = ''] = apiVersion.split('/').reverse();
      return storages.registry.findByKind(group, version, kind);
    };
    const admission = makeAdmissionChain({ enabled, disabled }, { authorizer, metrics, resourceOf, followers });
    const allowsPrivileged = options.allowPrivileged === true;
    const expirations = new Expirations({ history: () => historyOf(store), worker: place.number, log });
    const onExpiry = (expiry: Expiry) => expirations.note(expiry);
    const rest = new Rest({
      storages,
      tracker,
      ...access,
      admission,
      allowsPrivileged,
      nodePorts: options.serviceNodePorts,
      onExpiry,
      worker: place.number,
    });
    let flow: FlowControl | undefined;
    const introspect = options.introspection
      ? serveIntrospection({ rest, expirations, flow: () => flow?.controller, worker: place.number, whole })
      : undefined;
    const sendSnapshot = options.introspection ? snapshotHandler({ store, authorizer }) : undefined;
    const ui = options.introspection ? new Ui(place.secret ?? randomBytes(SECRET_BYTES)) : undefined;
    const watcherMetrics = new WatcherMetrics(metrics, storages, expirations);
    closers.push(() => watcherMetrics.close());
    if (!isOwner) await untilFilled(rest);
    else {
      await bootstrap(rest);
      // Not before: half of the built-in roles gather to less than they were made with.
      const aggregator = new ClusterRoleAggregator(storages.followedStorageOf(RBAC_GROUP, 'clusterroles'), log);
      closers.push(() => aggregator.close());
    }
    hooks.done('start-system-namespaces-controller', 'rbac/bootstrap-roles', 'priority-and-fairness-config-producer');
    hooks.done('scheduling/bootstrap-system-priority-classes');
    const crdController = new CrdController({
      rest,
      converterOf: converters(outbound, metrics),
      settles: isOwner,
      log,
    });
    closers.push(() => crdController.close());
    await crdController.start();
    hooks.done('start-apiextensions-informers', 'start-apiextensions-controllers', 'crd-informer-synced');
    await policies.ready();
    if (options.checksPolicyTypes && isOwner) {
      const typeChecking = new PolicyTypeChecking(rest, log);
      closers.push(() => typeChecking.close());
    }
    const countsQuotas = options.countsQuotas && isOwner;
    const quotaStatus = countsQuotas ? QuotaStatus.start({ rest, clock: backgroundClock, log }) : undefined;
    closers.push(async () => quotaStatus?.close());
    await webhooks.ready();

    let frontProxy = tls.frontProxy;
    let serving = tls.serving;
    addCertificateMetrics(metrics, () => ({ serving: serving.certPem, 'front-proxy-client': frontProxy.certPem }));
    const aggregation = new ApiAggregator({
      rest,
      connections: outbound,
      resolve: resolveService,
      clientCertificate: () => ({ cert: frontProxy.certPem, key: frontProxy.keyPem }),
      publishesOwn: isOwner,
      metrics,
      log,
    });
    closers.push(() => aggregation.close());
    await aggregation.start();
    addCacheMetrics(metrics, () => storages.cachers());
    addStoreMetrics(metrics, store);
    const discovery = new Discovery({ registry: aggregation.groups });
    const openApi = new OpenApi({ registry, others: () => aggregation.openApiUrls() });
    let url = '';
    const handle = (context: RequestContext): void | Promise<void> => {
      // What was defined through another thread a moment ago is known to whoever asks here now.
      if (whole && isAboutKinds(context, registry))
        return crdController.catchUp(context.signal).then(() => handleKnown(context));
      return handleKnown(context);
    };
    const handleKnown = (context: RequestContext): void | Promise<void> => {
      const proxied = aggregation.handle(context);
      if (proxied !== undefined) return proxied;
      if (ui?.handle(context)) return;
      const isLooking = introspect?.(context) ?? false;
      if (isLooking === true) return;
      const answered = isLooking || handleResource(rest, context);
      if (answered instanceof Promise) return answered.then((isDone) => (isDone ? undefined : handleOther(context)));
      if (!answered) return handleOther(context);
    };
    /** What is no resource. */
    const handleOther = async (context: RequestContext): Promise<void> => {
      if (discovery.handle(context) || openApi.handle(context)) return;
      if ((await health.handle(context)) || handleOpenId(context, access.tokens, () => url)) return;
      if (flow && handleFlowDump(flow.controller, context)) return;
      if (sendSnapshot && (await sendSnapshot(context))) return;
      if (context.path === '/metrics') await metrics.handle(context, whole && (() => whole.metricsText()));
      else context.send(404, 'text/plain; charset=utf-8', PAGE_NOT_FOUND);
    };

    let observer = requestLog(requestMetrics(metrics), options.verbosity ?? 0, log);
    let auditLine: ((line: string) => void) | undefined;
    if (options.auditLogPath && place.audit) {
      observer = auditedBy(place.audit, observer);
    } else if (options.auditLogPath) {
      const { auditLogMaxBytes: maxBytes, auditLogMaxBackups: maxBackups } = options;
      const file = resolve(options.auditLogPath);
      const limits = { ...(maxBytes !== undefined && { maxBytes }), ...(maxBackups !== undefined && { maxBackups }) };
      const audit = await openAuditLog({ file, ...limits, log }, observer);
      closers.push(() => audit.close());
      observer = audit.observer;
      auditLine = audit.write;
    }
    const totalSeats = (options.maxRequestsInflight ?? 400) + (options.maxMutatingRequestsInflight ?? 200);
    const flowMetrics = new FlowMetrics(totalSeats, () => systemTimer.now());
    flow =
      options.enablePriorityAndFairness !== false && totalSeats > 0
        ? await startFlowControl({
            rest,
            totalSeats,
            seatsOf: place.seats && ((level) => place.seats!.counter(`level ${level}`)),
            keepsUp: isOwner,
            clock: hardwareClock,
            onSeat: (kind, change) => observer.seat(kind, change),
            observer: flowMetrics,
            log,
          })
        : undefined;
    hooks.done('priority-and-fairness-config-consumer', 'priority-and-fairness-filter');
    if (flow) flowMetrics.addTo(metrics, flow.controller);
    closers.push(async () => flow?.close());
    const httpServer = await startHttpServer({
      host: bindAddress,
      port: listening.kind === 'own' ? securePort : listening.port,
      ...(listening.kind === 'handle' && { socket: listening.handle, share: listening.share }),
      tls: settingsOf(tls),
      authenticate: access.authenticate,
      authorizer: ui?.allowing(access.authorizer) ?? access.authorizer,
      handle,
      readdress: ui?.readdress,
      flow: flow?.controller,
      bytesOf: place.seats && ((name) => SharedBytes.of(place.seats!, name)),
      seatsOf: place.seats && ((kind) => place.seats!.counter(kind)),
      observer,
      accessObserver: accessMetrics(metrics),
      encodeStatus,
      history: store.history?.name,
      goawayChance: options.goawayChance ?? 0,
      shutdown: {
        sendsRetryAfter: options.shutdownSendRetryAfter ?? false,
        watchGraceMs: options.shutdownWatchTerminationGraceMs ?? 0,
      },
      limits: {
        ...(options.maxRequestsInflight !== undefined && { maxReadOnly: options.maxRequestsInflight }),
        ...(options.maxMutatingRequestsInflight !== undefined && {
          maxMutating: options.maxMutatingRequestsInflight,
        }),
        ...(options.requestTimeoutMs !== undefined && { requestTimeoutMs: options.requestTimeoutMs }),
      },
      log: (message, error) => log(error instanceof Error && error.stack ? `${message}\n${error.stack}` : message),
    }).catch((err: unknown) => {
      const isAboutPort = (err as NodeJS.ErrnoException).syscall !== undefined;
      throw isAboutPort ? listenError(err, bindAddress, securePort, '--bind-address and --secure-port') : err;
    });
    closers.push(() => httpServer.close());
    url = urlOf(bindAddress, httpServer.port);
    self = { host: new URL(url).hostname.replace(/^\[|\]$/g, ''), port: httpServer.port };
    const tellExtensions = async (material: TlsMaterial) => {
      if (isOwner) await publishAuthenticationInfo(rest, authenticationInfoOf(material, options));
    };
    await tellExtensions(tls);
    if (isOwner) {
      const identity = new IdentityLease({ rest, dataDir, clock: backgroundClock, log });
      closers.push(() => identity.close());
      await Promise.all([
        publishOwnService(rest, {
          ...{ bindAddress, port: httpServer.port, log },
          ranges: options.serviceClusterIpRanges,
        }),
        publishTokenTracking(rest),
        identity.start(),
      ]);
    }
    hooks.done('start-kube-apiserver-identity-lease-controller', 'start-legacy-token-tracking-controller');
    hooks.done('start-kube-apiserver-identity-lease-garbage-collector');
    const addressKeeper = isOwner ? ServiceAddressKeeper.start(rest, log) : undefined;
    hooks.done('bootstrap-controller', 'start-kubernetes-service-cidr-controller');
    hooks.done('start-service-ip-repair-controllers');
    closers.push(async () => addressKeeper?.close());
    const etcdFront =
      options.etcdListenClientUrls && isOwner
        ? await serveAsEtcd({
            store,
            urls: options.etcdListenClientUrls,
            tls,
            isEtcd: options.etcd !== undefined,
            inThread: whole !== undefined,
            log,
          })
        : undefined;
    closers.push(async () => etcdFront?.[Symbol.asyncDispose]());
    const writeAccess = ({ servingAuthorityPem: authorityPem, admin }: TlsMaterial) => {
      if (isOwner) writeKubeconfig(kubeconfigPath, { server: url, authorityPem, admin, token }, options.durability);
    };
    writeAccess(tls);

    const { tokenAuthFile } = options;
    const reloading = [
      new Reloading({
        what: 'the serving certificate, with the authorities of clients,',
        initial: tls,
        read: () => loadTlsMaterial({ ...tlsFiles, isRunning: true }),
        apply: (fresh) => {
          httpServer.setTls(settingsOf(fresh));
          etcdFront?.setTls(settingsOf(fresh));
          writeAccess(fresh);
          ({ frontProxy, serving } = fresh);
          tellExtensions(fresh).catch((err: Error) => log(`cannot tell extension API servers: ${err.message}`));
        },
        log,
      }),
      ...(tokenAuthFile
        ? [
            new Reloading({
              what: `the file of tokens "${tokenAuthFile}"`,
              initial: access.fromFile,
              read: () => readTokenFile(tokenAuthFile),
              apply: access.setTokensOfFile,
              log,
            }),
          ]
        : []),
    ];
    const stop = new AbortController();
    const reloads = keepReloading(reloading, hardwareClock, stop.signal);
    closers.push(() => {
      stop.abort(new Error('the server is stopping'));
      return reloads;
    });
    const reload = () => {
      for (const one of reloading) one.check();
    };
    const stopServing = closeOnce(async () => {
      health.stop();
      flow?.controller.close();
      if (options.shutdownDelayMs) await (options.shutdownClock ?? systemClock).sleep(options.shutdownDelayMs);
      await close();
    });
    const { connectInProcess } = httpServer;
    const own = watchSource(rest.openWatches, place.number);
    const feeding = new AbortController();
    closers.push(() => feeding.abort());
    const inside: Inside = {
      store,
      yieldPort: () => httpServer.yieldPort(),
      serveFeed: (line) =>
        serveFeed(line, async (what) => {
          const known = storages.cacherOf(what);
          if (known) return known;
          await crdController.catchUp(feeding.signal); // a kind that the other thread has heard of first
          return storages.cacherOf(what);
        }),
      metricsText: () => metrics.text(),
      watches: () => [...own.items()],
      expirations: () => [...expirations.items()],
      endWatch: (name) => rest.openWatches.end(name),
    };
    const etcdUrls = etcdFront?.urls ?? [];
    return {
      url,
      kubeconfigPath,
      connectInProcess,
      etcdUrls,
      workers: () => [],
      joined: Promise.resolve(),
      reload,
      close: stopServing,
      inside,
      audit: auditLine,
    };
  } catch (err) {
    await close();
    throw err;
  }
}

/** Whether the answer is about which kinds there are: discovery, or one that is not known. */
function isAboutKinds({ requestInfo, path }: RequestContext, registry: Registry): boolean {
  if (requestInfo.kind !== 'resource')
    return path === '/apis' || path.startsWith('/apis/') || path.startsWith('/openapi/');
  return registry.find(requestInfo.group, requestInfo.version, requestInfo.resource) === undefined;
}
