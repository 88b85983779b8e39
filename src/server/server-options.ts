/**
 * The options of a server; the flags of `longwatch serve` are these, one for one.
 *
 * Only `dataDir` has to be given; what is left out has the default that the flag's help names. Times are in
 * milliseconds here, whatever people write on the command line.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../api/clock.ts';
import type { Store } from '../store/kv.ts';

export type ServerOptions = {
  /** Certificates, tokens, kubeconfig, and the embedded store. */
  readonly dataDir: string;
  /** 127.0.0.1 */
  readonly bindAddress?: string;
  /** 6443; 0 picks a free one. */
  readonly securePort?: number;
  /** `<dataDir>/admin.kubeconfig` */
  readonly kubeconfigOut?: string;

  /** Threads that serve, beside this one, which then has the store: 0, this one does all. */
  readonly workers?: number;

  readonly etcd?: EtcdOptions;
  /**
   * Serves the embedded store as an etcd here: `http://127.0.0.1:2379`, loopback only, to anybody on this machine; or
   * `https://…` to client certificates of the group system:masters. Port 0 picks a free one.
   */
  readonly etcdListenClientUrls?: readonly string[];
  readonly autoCompaction?: AutoCompactionOptions;
  /** Opens the store, in the place of what the options before say; it is closed with the server. */
  readonly openStore?: () => Promise<Store>;
  /** Of the embedded store: `fsync`. `none` is for tests only, a crash of the machine may lose everything. */
  readonly durability?: 'fsync' | 'none';

  /** true */
  readonly watchCache?: boolean;
  readonly defaultWatchCacheSize?: number;
  /** By resource, `pods` or `deployments.apps`; 0 turns the cache of one off. */
  readonly watchCacheSizes?: Readonly<Record<string, number>>;
  /** How long Events stay: 3600; 0, for ever. */
  readonly eventTtlSeconds?: number;

  /** Both or neither. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  /** Names and addresses for the certificate that is made, beside those the server knows of: itself, what it binds. */
  readonly tlsSans?: readonly string[];
  readonly clientCaFile?: string;
  /** What this server shows to extension API servers, beside `requestheaderClientCaFile`; both or neither. */
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  /** The authority of that certificate, for extension API servers to trust. */
  readonly requestheaderClientCaFile?: string;
  /** false: a Service is reached by its cluster address; true: by that of an endpoint. */
  readonly enableAggregatorRouting?: boolean;
  readonly tokenAuthFile?: string;
  /** Who signs service-account tokens, by name: https://kubernetes.default.svc.cluster.local */
  readonly serviceAccountIssuer?: string;
  /** RSA or EC P-256; made in `<dataDir>/pki` without it. Servers that share a store must share it. */
  readonly serviceAccountSigningKeyFile?: string;
  /** One line of JSON per request: who did what, and how it ended. */
  readonly auditLogPath?: string;
  /** Of one file of it, 100 MiB; then it is set aside. 0 is no limit. */
  readonly auditLogMaxBytes?: number;
  /** How many that were set aside are kept, 10; 0 keeps all. */
  readonly auditLogMaxBackups?: number;
  /**
   * Whoever shows it is `system:kube-controller-manager`, with `.NAME` behind it the controller of that name: for those
   * that run beside the server, in its process.
   */
  readonly controllersToken?: string;
  /** RBAC */
  readonly authorizationMode?: AuthorizationMode;
  /** true */
  readonly anonymousAuth?: boolean;
  /** What Services are given addresses from, one range or one of each family: 10.0.0.0/24. That of the first start is kept. */
  readonly serviceClusterIpRanges?: readonly string[];
  /** What Services are given on every node: 30000 to 32767. */
  readonly serviceNodePorts?: { readonly first: number; readonly last: number };
  /** Pods may have privileged containers: false, as of kube-apiserver. */
  readonly allowPrivileged?: boolean;
  /** Admission plugins beside those that run by default, and those that do not run though they are among these. */
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
  /** Whether the types of policies' expressions are checked into their status. */
  readonly checksPolicyTypes?: boolean;
  /** Whether what ResourceQuotas restrain is counted into their status. */
  readonly countsQuotas?: boolean;

  /** 400 and 200; their sum is the number of seats that flow control gives out. Both 0: it is off, and there is no limit. */
  readonly maxRequestsInflight?: number;
  readonly maxMutatingRequestsInflight?: number;
  /** true; false: two plain counters instead, of reads and of writes, where 0 is no limit. */
  readonly enablePriorityAndFairness?: boolean;
  /** 60 s */
  readonly requestTimeoutMs?: number;
  /** A watch without a time of its own lasts this long and up to twice as long: 30 min. */
  readonly minRequestTimeoutMs?: number;

  /** The chance, up to 0.02, that a request is the last on its HTTP/2 connection: 0. */
  readonly goawayChance?: number;
  /** How long everything is still served once the server is told to stop, while `/readyz` fails already: 0. */
  readonly shutdownDelayMs?: number;
  /** By which that is measured; the system's. */
  readonly shutdownClock?: Clock;
  /** While it stops, it listens until the requests under way are answered, and sends new ones away with Retry-After: false. */
  readonly shutdownSendRetryAfter?: boolean;
  /** Over how long watches end, once it stops: 0, all at once. */
  readonly shutdownWatchTerminationGraceMs?: number;
  /** Whether what the server knows of itself is served as `introspection.longwatch.dev`: see docs/introspection.md. */
  readonly introspection?: boolean;

  /** 0: errors, and what happens to the server; 2: also requests that were refused or failed; 4: every request. */
  readonly verbosity?: number;
  /** Where log lines go; stderr without it. */
  readonly log?: (line: string) => void;
};

export type AuthorizationMode = 'RBAC' | 'AlwaysAllow';

export type EtcdOptions = {
  readonly servers: readonly string[];
  /** /registry */
  readonly prefix?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
};

export type AutoCompactionOptions =
  | { readonly mode: 'periodic'; readonly retentionMs: number }
  | { readonly mode: 'revision'; readonly retentionRevisions: number };

/** A thread that serves. */
export type RunningWorker = {
  /** As open watches are told to be of; one that takes the place of another has a new one. */
  readonly number: number;
  /** Ends it on the spot, as if it had died: another takes its place. */
  terminate(): Promise<void>;
};

/** A server that runs. */
export type RunningServer = {
  readonly url: string;
  readonly kubeconfigPath: string;
  /** The client's end of a connection from within this process: HTTP/1.1, without a socket and without TLS. */
  readonly connectInProcess: () => Duplex;
  /** Where the store is served as an etcd, if it is. */
  readonly etcdUrls: readonly string[];
  /** The threads that serve, if it has any beside its own. */
  readonly workers: () => readonly RunningWorker[];
  /** All of those serve: until then the thread that has the store does. */
  readonly joined: Promise<void>;
  /** Reads certificates, authorities and tokens again now; every minute it does so by itself. */
  reload(): void;
  close(): Promise<void>;
};
