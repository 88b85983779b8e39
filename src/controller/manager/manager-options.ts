/** Options of a manager, and its health. */
import type { Clock, Logger, Tracer } from '../../api/index.ts';
import type { InformerDefaults, InformerState } from '../../client/advanced.ts';
import type { KubeClient } from '../../client/index.ts';
import type { LeaderElectorOptions } from '../election/leader-elector.ts';
import type { Role } from '../election/role-feed.ts';
import type { QueueObserver } from '../queue/queue-metrics.ts';
import type { WorkOutcome } from '../queue/worker-pool.ts';

export type ElectionOptions = Omit<LeaderElectorOptions, 'leases' | 'lease' | 'onError' | 'onFailure' | 'clock'> & {
  /** Of the Lease that candidates share. */
  readonly name: string;
  /** That of the client's context. */
  readonly namespace?: string | undefined;
};

/** Where an error came from. */
export type ErrorSource = {
  /** The manager's, if it has been given a name. */
  readonly cluster?: string;
  readonly controller?: string;
  readonly key?: string;
  readonly part: 'reconcile' | 'informer' | 'election' | 'recorder' | 'tracer';
};

/** For those who keep metrics of their own. What it throws is a process warning. */
export type ManagerObserver = {
  readonly onReconcile?: ((controller: string, outcome: WorkOutcome<string>) => void) | undefined;
  /** Asked once for each controller. */
  readonly queue?: ((controller: string) => QueueObserver) | undefined;
};

export type ManagerOptions = {
  /** Stays its owner's: a manager does not close it. */
  readonly client: KubeClient;
  /** What the reconciles of a controller, by its name, read and write with; informers, events and leases stay `client`'s. */
  readonly clientFor?: ((controller: string) => KubeClient) | undefined;
  /** `context.cluster` of its reconciles, in log lines and errors too; for more than one: see ClusterSet. */
  readonly cluster?: string | undefined;
  /** Where controllers look that name no namespace themselves; everywhere without it. */
  readonly namespace?: string | readonly string[] | undefined;
  /** Controllers run only while this process leads; without it, always. */
  readonly election?: ElectionOptions | undefined;
  /**
   * For all informers that controllers share: how often each is held against the server, and with `checkpoint`, a folder, where
   * their state outlives the process: reconciles then begin from there, at once, with what changed meanwhile.
   */
  readonly informers?: Pick<InformerDefaults, 'auditMs' | 'checkpoint' | 'freeze' | 'reflector'> | undefined;
  readonly health?: HealthOptions | undefined;
  /** How long reconciles may go on when the manager stops, before their signals fire: 30 s. */
  readonly graceMs?: number | undefined;
  /** How long they have after that: 5 s. */
  readonly abortGraceMs?: number | undefined;
  /**
   * What becomes of the process when a reconcile is stuck (see HealthOptions): `report`, the default, says so in
   * health, log and `onError`, and everything else goes on; `exit` does so and ends the process with code 1, for a new
   * one.
   */
  readonly onStuck?: 'report' | 'exit' | undefined;
  /** Errors that stop nothing; without it they go to the logger. */
  readonly onError?: ((error: unknown, source: ErrorSource) => void) | undefined;
  /** Lines on stderr without it: what it does, waits for and fails at. `false`: none. */
  readonly logger?: Logger | false | undefined;
  /** Each reconcile is a span. */
  readonly tracer?: Tracer | undefined;
  readonly observer?: ManagerObserver | undefined;
  readonly clock?: Clock | undefined;
  /** Milliseconds since 1970. */
  readonly wallNow?: (() => number) | undefined;
};

export type HealthOptions = {
  /** How long a server may be silent before its informer counts as stale: 3 min, since it sends a bookmark a minute. */
  readonly maxLagMs?: number | undefined;
  /** How long a reconcile may run before it counts as stuck: 10 min. One that ignores its signal is that sooner. */
  readonly stuckAfterMs?: number | undefined;
};

/**
 * - `waiting`: for informers that have not the whole state yet
 * - `standby`: for leadership
 * - `running`
 * - `stopped`
 */
export type ControllerState = 'waiting' | 'standby' | 'running' | 'stopped';

export type InformerHealth = {
  /** `pods`, `deployments.apps`. */
  readonly name: string;
  readonly controllers: readonly string[];
  readonly state: InformerState;
  readonly lagMs: number | undefined;
  readonly resourceVersion: string | undefined;
  readonly error: unknown;
  readonly isReady: boolean;
  /** Why it is not ready; empty if it is. */
  readonly why: string;
};

export type ControllerHealth = {
  readonly name: string;
  readonly state: ControllerState;
  /** The informers that keep it from running. */
  readonly waitsFor: readonly string[];
  /** Reconciles that do not end. */
  readonly stuck: readonly StuckReconcile[];
};

export type StuckReconcile = {
  readonly key: string;
  readonly runningMs: number;
  /** Its signal has fired, its grace is over, and it goes on. Only a new process helps. */
  readonly ignoresSignal: boolean;
};

/** Errors that stopped nothing, counted by where they came from. */
export type ErrorCount = {
  readonly part: ErrorSource['part'];
  /** Empty where it was none of a controller's. */
  readonly controller: string;
  readonly count: number;
  readonly last: unknown;
  /** Milliseconds ago. */
  readonly lastMs: number;
};

export type ManagerHealth = {
  /** False when only a restart of the process helps. */
  readonly isLive: boolean;
  /**
   * Every informer is fresh, no reconcile is stuck, the lease can be reached. A manager that does not lead is ready all
   * the same: it stands by.
   */
  readonly isReady: boolean;
  readonly informers: readonly InformerHealth[];
  readonly controllers: readonly ControllerHealth[];
  /** Undefined without an election. */
  readonly role: Role | undefined;
  /** Since it began; they make it neither unready nor dead. */
  readonly errors: readonly ErrorCount[];
  /** What keeps it from being live or ready, in words; each names who is to blame. */
  readonly problems: readonly string[];
};
