/**
 * From flags to ServerOptions: every value checked, every contradiction found, before anything is started.
 *
 * A refusal is an InvalidArgumentError of commander with a sentence that says what would be right.
 */
import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { parseGoDurationMs } from '../../api/index.ts';
import { chooseControllers } from '../../controllers/controller-names.ts';
import { choiceFaults } from '../../server/admission/plugin-names.ts';
import type { AutoCompactionOptions, EtcdOptions, ServerOptions } from '../../server/server-options.ts';
import { isDnsName } from '../../server/serving/dns-name.ts';
import type { PortRange } from '../../server/strategy/strategy.ts';
import type { LogFormat } from './serve-log.ts';

/** The flags as commander hands them over. */
export type ServeFlags = {
  bindAddress: string;
  securePort: number;
  workers: number;
  dataDir: string;
  kubeconfigOut?: string;
  etcdServers?: string[];
  etcdPrefix?: string;
  etcdCafile?: string;
  etcdCertfile?: string;
  etcdKeyfile?: string;
  etcdListenClientUrls?: string[];
  watchCache: boolean;
  defaultWatchCacheSize?: number;
  watchCacheSizes?: Record<string, number>;
  eventTtl: number;
  autoCompactionMode: 'periodic' | 'revision';
  autoCompactionRetention: string;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  tlsSan?: string[];
  clientCaFile?: string;
  proxyClientCertFile?: string;
  proxyClientKeyFile?: string;
  requestheaderClientCaFile?: string;
  enableAggregatorRouting: boolean;
  tokenAuthFile?: string;
  serviceAccountIssuer?: string;
  serviceAccountSigningKeyFile?: string;
  auditLogPath?: string;
  auditLogMaxsize: number;
  auditLogMaxbackup: number;
  authorizationMode: 'RBAC' | 'AlwaysAllow';
  anonymousAuth: boolean;
  serviceClusterIpRange?: string[];
  serviceNodePortRange?: PortRange;
  allowPrivileged: boolean;
  enableAdmissionPlugins?: string[];
  disableAdmissionPlugins?: string[];
  maxRequestsInflight: number;
  maxMutatingRequestsInflight: number;
  enablePriorityAndFairness: boolean;
  introspection: boolean;
  requestTimeout: number;
  minRequestTimeout: number;
  goawayChance: number;
  shutdownDelayDuration: number;
  shutdownSendRetryAfter: boolean;
  shutdownWatchTerminationGracePeriod: number;
  controllers?: string[];
  pretendNodes: number;
  leaderElect?: boolean;
  v: number;
  logFormat: LogFormat;
  config?: string;
  readyFile?: string;
};

export function toServerOptions(flags: ServeFlags): ServerOptions {
  const etcd = toEtcdOptions(flags);
  if ((flags.tlsCertFile === undefined) !== (flags.tlsPrivateKeyFile === undefined))
    throw new InvalidArgumentError(
      '--tls-cert-file and --tls-private-key-file belong together: give both, or neither to have a certificate made.',
    );
  if ((flags.proxyClientCertFile === undefined) !== (flags.proxyClientKeyFile === undefined))
    throw new InvalidArgumentError(
      '--proxy-client-cert-file and --proxy-client-key-file belong together: give both, or neither to have one made.',
    );
  if (flags.tlsSan && flags.tlsCertFile)
    throw new InvalidArgumentError(
      '--tls-san is for the certificate that is made: with --tls-cert-file the names are those in that certificate.',
    );
  if (etcd && flags.etcdListenClientUrls)
    throw new InvalidArgumentError(
      '--etcd-listen-client-urls serves the embedded store: with --etcd-servers let clients use that etcd itself.',
    );
  const [fault] = choiceFaults({
    enabled: flags.enableAdmissionPlugins ?? [],
    disabled: flags.disableAdmissionPlugins ?? [],
  });
  if (fault) throw new InvalidArgumentError(fault);
  const { bindAddress, securePort, dataDir, watchCache, authorizationMode, anonymousAuth, allowPrivileged } = flags;
  const { maxRequestsInflight, maxMutatingRequestsInflight, enablePriorityAndFairness } = flags;
  return {
    dataDir,
    workers: flags.workers,
    bindAddress,
    securePort,
    watchCache,
    authorizationMode,
    anonymousAuth,
    allowPrivileged,
    maxRequestsInflight,
    maxMutatingRequestsInflight,
    enablePriorityAndFairness,
    introspection: flags.introspection,
    requestTimeoutMs: flags.requestTimeout,
    minRequestTimeoutMs: flags.minRequestTimeout,
    goawayChance: flags.goawayChance,
    shutdownDelayMs: flags.shutdownDelayDuration,
    shutdownSendRetryAfter: flags.shutdownSendRetryAfter,
    shutdownWatchTerminationGraceMs: flags.shutdownWatchTerminationGracePeriod,
    autoCompaction: toAutoCompaction(flags),
    verbosity: flags.v,
    ...(etcd && { etcd }),
    ...given('etcdListenClientUrls', flags.etcdListenClientUrls),
    ...given('kubeconfigOut', flags.kubeconfigOut),
    ...given('defaultWatchCacheSize', flags.defaultWatchCacheSize),
    ...given('watchCacheSizes', flags.watchCacheSizes),
    eventTtlSeconds: Math.ceil(flags.eventTtl / 1000),
    ...given('tlsCertFile', flags.tlsCertFile),
    ...given('tlsPrivateKeyFile', flags.tlsPrivateKeyFile),
    ...given('tlsSans', flags.tlsSan),
    ...given('clientCaFile', flags.clientCaFile),
    ...given('proxyClientCertFile', flags.proxyClientCertFile),
    ...given('proxyClientKeyFile', flags.proxyClientKeyFile),
    ...given('requestheaderClientCaFile', flags.requestheaderClientCaFile),
    enableAggregatorRouting: flags.enableAggregatorRouting,
    ...given('tokenAuthFile', flags.tokenAuthFile),
    ...given('serviceAccountIssuer', flags.serviceAccountIssuer),
    ...given('serviceAccountSigningKeyFile', flags.serviceAccountSigningKeyFile),
    ...given('auditLogPath', flags.auditLogPath),
    ...given('serviceClusterIpRanges', flags.serviceClusterIpRange),
    ...given('serviceNodePorts', flags.serviceNodePortRange),
    ...given('enableAdmissionPlugins', flags.enableAdmissionPlugins),
    ...given('disableAdmissionPlugins', flags.disableAdmissionPlugins),
    auditLogMaxBytes: flags.auditLogMaxsize * 1024 * 1024,
    auditLogMaxBackups: flags.auditLogMaxbackup,
  };
}

function toEtcdOptions(flags: ServeFlags): EtcdOptions | undefined {
  const { etcdServers: servers, etcdPrefix, etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  if (!servers) {
    if (etcdPrefix ?? etcdCafile ?? etcdCertfile ?? etcdKeyfile)
      throw new InvalidArgumentError(
        '--etcd-prefix, --etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers.',
      );
    return undefined;
  }
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined))
    throw new InvalidArgumentError('--etcd-certfile and --etcd-keyfile belong together: give both or neither.');
  return {
    servers,
    ...given('prefix', etcdPrefix),
    ...given('caFile', etcdCafile),
    ...given('certFile', etcdCertfile),
    ...given('keyFile', etcdKeyfile),
  };
}

/** As etcd reads it: a plain number means hours when periodic, revisions when by revision. */
function toAutoCompaction({
  autoCompactionMode: mode,
  autoCompactionRetention: text,
}: ServeFlags): AutoCompactionOptions {
  const isNumber = /^[0-9]+$/.test(text);
  if (mode === 'revision') {
    if (!isNumber)
      throw new InvalidArgumentError(
        `--auto-compaction-retention ${quote(text)} is no number of revisions; with --auto-compaction-mode revision write for example 1000.`,
      );
    return { mode, retentionRevisions: Number(text) };
  }
  return { mode, retentionMs: isNumber ? Number(text) * 3_600_000 : parseDuration(text) };
}

/** `5m`, `1h30m`, `0`; in milliseconds. */
export function parseDuration(text: string): number {
  let ms: number;
  try {
    ms = parseGoDurationMs(text);
  } catch {
    ms = -1;
  }
  if (ms < 0) throw new InvalidArgumentError(`${quote(text)} is no duration; write for example 90s, 5m or 1h30m.`);
  return ms;
}

/** A duration, or a plain number of seconds as kube-apiserver takes it. */
export function parseSeconds(text: string): number {
  return /^[0-9]+$/.test(text) ? Number(text) * 1000 : parseDuration(text);
}

/** Of GOAWAY: more often, and clients would do nothing but connect. */
export function parseChance(text: string): number {
  const chance = text.trim() === '' ? Number.NaN : Number(text);
  if (!(chance >= 0 && chance <= 0.02))
    throw new InvalidArgumentError('--goaway-chance can not be less than 0 or greater than 0.02');
  return chance;
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(count))
    throw new InvalidArgumentError(`${quote(text)} is no count; write a whole number from 0 up.`);
  return count;
}

/** As many as pay: see docs/workers.md. */
const MOST_WORKERS_BY_DEFAULT = 8;

/**
 * One less than the cores, since the store has one for itself. A single worker is no gain: as many threads serve as without
 * it, and each write goes through two. So there are two or none; and none where threads cannot share a port.
 */
export function defaultWorkers(cores: number, platform: NodeJS.Platform): number {
  return platform === 'win32' || cores < 3 ? 0 : Math.min(cores - 1, MOST_WORKERS_BY_DEFAULT);
}

/** More threads than that are a slip of the finger; each is a server with caches of its own. */
const MOST_WORKERS = 64;

export function parseWorkers(text: string): number {
  const count = parseCount(text);
  if (count > MOST_WORKERS)
    throw new InvalidArgumentError(`${quote(text)} are too many workers; write a number from 0 to ${MOST_WORKERS}.`);
  return count;
}

export function parsePort(text: string): number {
  const port = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65535))
    throw new InvalidArgumentError(`${quote(text)} is no port; write a number from 0 (a free one) to 65535.`);
  return port;
}

export function parseBoolean(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new InvalidArgumentError(`${quote(text)} is neither true nor false.`);
}

export function parseUrls(text: string): string[] {
  const urls = text.split(',').map((url) => url.trim());
  for (const url of urls)
    if (!URL.canParse(url) || !/^https?:\/\//.test(url))
      throw new InvalidArgumentError(`${quote(url)} is no URL; write for example http://127.0.0.1:2379.`);
  return urls;
}

/** `watch.example.com,10.0.0.5`; those of each time the flag is given. */
export function parseSans(text: string, before: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names)
    if (!isIP(name) && !isDnsName(name))
      throw new InvalidArgumentError(
        `${quote(name)} is no name for a certificate; write for example watch.example.com,10.0.0.5.`,
      );
  return [...before, ...names];
}

/** `LimitRanger,ResourceQuota`; those of each time the flag is given. */
export function parseNames(text: string, before: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...before, ...names.filter((name) => name !== '')];
}

/** `*,-garbage-collector-controller`; those of each time the flag is given. */
export function parseControllers(text: string, before: readonly string[] = []): string[] {
  const parts = [...before, ...text.split(',').map((part) => part.trim())];
  try {
    chooseControllers(parts);
  } catch (err) {
    throw new InvalidArgumentError(`${(err as Error).message}.`);
  }
  return parts;
}

/** `pods#5000,deployments.apps#100` */
export function parseCacheSizes(text: string): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const part of text.split(',')) {
    const match = /^([a-z0-9][-a-z0-9.]*)#([0-9]+)$/.exec(part.trim());
    if (!match)
      throw new InvalidArgumentError(`${quote(part)} is no size of a cache; write for example pods#5000,secrets#1000.`);
    sizes[match[1]!] = Number(match[2]);
  }
  return sizes;
}

function quote(text: string): string {
  return `"${text}"`;
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
