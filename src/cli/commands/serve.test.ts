import { availableParallelism } from 'node:os';
import { Command, CommanderError } from 'commander';
import { afterEach, expect, it, vi } from 'vitest';
import type { ServerOptions } from '../../server/server-options.ts';
import { addServeCommand } from './serve.ts';
import type { ControllersBeside } from './serve-controllers.ts';
import { defaultWorkers } from './serve-flags.ts';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** What the server would have been started with, or what was said instead. */
async function run(...args: string[]): Promise<{ options?: ServerOptions; beside?: ControllersBeside; said: string }> {
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  let options: ServerOptions | undefined;
  const program = new Command('longwatch').exitOverride();
  let beside: ControllersBeside | undefined;
  addServeCommand(program, async (given, controllers) => {
    options = given;
    beside = controllers;
    throw new Error('Cannot open "x": another process holds it');
  });
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync(['serve', ...args], { from: 'user' });
  } catch (err) {
    if (!(err instanceof CommanderError)) throw err;
  }
  return { ...(options && { options }), ...(beside && { beside }), said };
}

it('serve starts with the defaults it names', async () => {
  const { options, said } = await run();
  expect(options).toEqual({
    dataDir: '.longwatch',
    workers: defaultWorkers(availableParallelism(), process.platform),
    bindAddress: '127.0.0.1',
    securePort: 6443,
    watchCache: true,
    authorizationMode: 'RBAC',
    anonymousAuth: true,
    allowPrivileged: false,
    maxRequestsInflight: 400,
    maxMutatingRequestsInflight: 200,
    enableAggregatorRouting: false,
    enablePriorityAndFairness: true,
    introspection: true,
    requestTimeoutMs: 60_000,
    minRequestTimeoutMs: 1_800_000,
    goawayChance: 0,
    shutdownDelayMs: 0,
    shutdownSendRetryAfter: false,
    shutdownWatchTerminationGraceMs: 0,
    autoCompaction: { mode: 'periodic', retentionMs: 300_000 },
    auditLogMaxBytes: 100 * 1024 * 1024,
    auditLogMaxBackups: 10,
    eventTtlSeconds: 3600,
    verbosity: 0,
  });
  expect(said).toBe('longwatch: Cannot open "x": another process holds it\n');
  expect(process.exitCode).toBe(1);
});

it.each<[cores: number, platform: NodeJS.Platform, workers: number]>([
  [1, 'linux', 0],
  [2, 'linux', 0], // one worker would be no gain
  [3, 'linux', 2],
  [8, 'darwin', 7],
  [64, 'linux', 8],
  [8, 'win32', 0],
])('serve on %i cores of %s has %i workers', (cores, platform, workers) => {
  expect(defaultWorkers(cores, platform)).toBe(workers);
});

it('serve reads every flag', async () => {
  const args = [
    ...['--bind-address', '0.0.0.0', '--secure-port', '0', '--data-dir', '/d', '--kubeconfig-out', '/k'],
    ...['--etcd-servers', 'http://a:1,https://b:2', '--etcd-prefix', '/p', '--etcd-cafile', 'ca'],
    ...['--etcd-certfile', 'c', '--etcd-keyfile', 'k', '--watch-cache=false', '--default-watch-cache-size', '50'],
    ...['--watch-cache-sizes', 'pods#5000,deployments.apps#10', '--auto-compaction-mode', 'revision'],
    ...['--auto-compaction-retention', '1000', '--tls-cert-file', 't', '--tls-private-key-file', 'tk'],
    ...['--proxy-client-cert-file', 'pc', '--proxy-client-key-file', 'pk', '--requestheader-client-ca-file', 'rca'],
    ...['--enable-aggregator-routing', 'true'],
    ...['--client-ca-file', 'cca', '--token-auth-file', 'tf', '--authorization-mode', 'AlwaysAllow'],
    ...[
      '--anonymous-auth=false',
      '--allow-privileged',
      'true',
      '--max-requests-inflight',
      '1',
      '--max-mutating-requests-inflight',
      '2',
    ],
    ...['--introspection=false', '--workers', '3', '--event-ttl', '2h'],
    ...['--service-cluster-ip-range', '10.96.0.0/16,fd00:96::/108', '--service-node-port-range', '30000+10'],
    ...['--enable-priority-and-fairness', 'false', '--enable-admission-plugins', 'AlwaysPullImages,ServiceAccount'],
    ...['--disable-admission-plugins', 'Priority', '--disable-admission-plugins', 'LimitRanger'],
    ...['--request-timeout', '1m30s', '--min-request-timeout', '60', '--v', '4', '--audit-log-path', '/a'],
    ...['--goaway-chance', '0.001', '--shutdown-delay-duration', '70s', '--shutdown-send-retry-after=true'],
    ...['--shutdown-watch-termination-grace-period', '30s'],
    ...['--audit-log-maxsize', '1', '--audit-log-maxbackup', '2'],
    ...['--service-account-issuer', 'https://i', '--service-account-signing-key-file', 'sk'],
    ...['--controllers=*,-garbage-collector-controller', '--pretend-nodes', '3', '--leader-elect', 'false'],
  ];
  const { options, beside } = await run(...args);
  expect(beside).toEqual({ controllers: ['*', '-garbage-collector-controller'], pretendNodes: 3, isElected: false });
  expect(options).toEqual({
    dataDir: '/d',
    workers: 3,
    bindAddress: '0.0.0.0',
    securePort: 0,
    kubeconfigOut: '/k',
    etcd: { servers: ['http://a:1', 'https://b:2'], prefix: '/p', caFile: 'ca', certFile: 'c', keyFile: 'k' },
    watchCache: false,
    defaultWatchCacheSize: 50,
    watchCacheSizes: { pods: 5000, 'deployments.apps': 10 },
    autoCompaction: { mode: 'revision', retentionRevisions: 1000 },
    tlsCertFile: 't',
    tlsPrivateKeyFile: 'tk',
    clientCaFile: 'cca',
    proxyClientCertFile: 'pc',
    proxyClientKeyFile: 'pk',
    requestheaderClientCaFile: 'rca',
    enableAggregatorRouting: true,
    tokenAuthFile: 'tf',
    authorizationMode: 'AlwaysAllow',
    anonymousAuth: false,
    allowPrivileged: true,
    maxRequestsInflight: 1,
    maxMutatingRequestsInflight: 2,
    enablePriorityAndFairness: false,
    introspection: false,
    serviceClusterIpRanges: ['10.96.0.0/16', 'fd00:96::/108'],
    serviceNodePorts: { first: 30000, last: 30010 },
    enableAdmissionPlugins: ['AlwaysPullImages', 'ServiceAccount'],
    disableAdmissionPlugins: ['Priority', 'LimitRanger'],
    requestTimeoutMs: 90_000,
    minRequestTimeoutMs: 60_000,
    goawayChance: 0.001,
    shutdownDelayMs: 70_000,
    shutdownSendRetryAfter: true,
    shutdownWatchTerminationGraceMs: 30_000,
    auditLogPath: '/a',
    auditLogMaxBytes: 1024 * 1024,
    auditLogMaxBackups: 2,
    serviceAccountIssuer: 'https://i',
    serviceAccountSigningKeyFile: 'sk',
    eventTtlSeconds: 7200,
    verbosity: 4,
  });
  const program = new Command();
  addServeCommand(program);
  const known = program.commands[0]!.options.map(({ long }) => long!);
  // These do not go with others above, or not to the server, and have tests of their own.
  const alone = ['--etcd-listen-client-urls', '--tls-san', '--log-format', '--config', '--ready-file'];
  const given = args.map((arg) => arg.split('=')[0]);
  expect(known.filter((flag) => !given.includes(flag) && !alone.includes(flag))).toEqual([]);
});

it('serve takes where its store is to be an etcd', async () => {
  const { options } = await run('--etcd-listen-client-urls', 'http://127.0.0.1:2379,https://[::1]:2379');
  expect(options?.etcdListenClientUrls).toEqual(['http://127.0.0.1:2379', 'https://[::1]:2379']);
});

it.each([
  [[], { controllers: undefined, pretendNodes: 0, isElected: false }],
  [['--controllers=-*'], { controllers: ['-*'], pretendNodes: 0, isElected: false }],
  [
    ['--controllers', 'namespace-controller', '--controllers', '-*'],
    { controllers: ['namespace-controller', '-*'], pretendNodes: 0, isElected: false },
  ],
  [['--etcd-servers', 'http://a:1'], { controllers: undefined, pretendNodes: 0, isElected: true }],
])('serve %j says what runs beside it', async (args, want) => expect((await run(...args)).beside).toEqual(want));

it('serve takes names for its certificate, by commas and by repeating', async () => {
  const { options } = await run('--tls-san', 'a.example.com, 10.0.0.5', '--tls-san', '*.example.org');
  expect(options?.tlsSans).toEqual(['a.example.com', '10.0.0.5', '*.example.org']);
});

it.each([
  [['--auto-compaction-retention', '2'], { mode: 'periodic', retentionMs: 7_200_000 }],
  [['--auto-compaction-retention', '0'], { mode: 'periodic', retentionMs: 0 }],
])('serve %j sets the compaction', async (args, want) =>
  expect((await run(...args)).options?.autoCompaction).toEqual(want),
);

it.each([
  [['--secure-port', '70000'], 'from 0 (a free one) to 65535'],
  [['--request-timeout', 'soon'], 'write for example 90s, 5m or 1h30m'],
  [['--goaway-chance', '0.5'], '--goaway-chance can not be less than 0 or greater than 0.02'],
  [['--shutdown-delay-duration', '-1s'], 'write for example 90s, 5m or 1h30m'],
  [['--watch-cache-sizes', 'pods=5'], 'pods#5000,secrets#1000'],
  [['--watch-cache', 'maybe'], 'neither true nor false'],
  [['--max-requests-inflight', '-1'], 'whole number from 0 up'],
  [['--etcd-servers', 'localhost:2379'], 'http://127.0.0.1:2379'],
  [['--authorization-mode', 'ABAC'], 'Allowed choices are RBAC, AlwaysAllow'],
  [['--tls-cert-file', 'x'], 'give both, or neither to have a certificate made'],
  [['--etcd-cafile', 'x'], 'need --etcd-servers'],
  [['--tls-san', 'a b'], 'is no name for a certificate'],
  [['--tls-san', 'a', '--tls-cert-file', 'x', '--tls-private-key-file', 'y'], 'is for the certificate that is made'],
  [['--etcd-servers', 'http://a:1', '--etcd-listen-client-urls', 'http://b:2'], 'serves the embedded store'],
  [['--etcd-servers', 'http://a:1', '--etcd-keyfile', 'x'], '--etcd-certfile and --etcd-keyfile belong together'],
  [['--auto-compaction-mode', 'revision'], 'is no number of revisions'],
  [['--enable-admission-plugins', 'Nonsense'], 'enable-admission-plugins plugin "Nonsense" is unknown'],
  [
    ['--enable-admission-plugins', 'Priority', '--disable-admission-plugins', 'Priority'],
    '[Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
  ],
  [['--sercure-port', '1'], '(Did you mean --secure-port?)'],
  [['--controllers=namespace-controller,-nodes'], '"nodes" is not in the list of known controllers'],
  [['--pretend-nodes', 'many'], 'whole number from 0 up'],
  [['extra'], 'too many arguments'],
])('serve refuses %j with a sentence that helps', async (args, sentence) => {
  const { options, said } = await run(...args);
  expect(options).toBeUndefined();
  expect(said).toContain(sentence);
});
