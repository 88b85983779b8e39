/** What the measured clients are told, what they tell, and how one is run: as a process of its own, bounded by a signal. */
import { once } from 'node:events';
import { forkBuilt } from '../lib/fork-built.ts';

export type ClientName = 'longwatch' | 'client-node' | 'bare';

/** `label`: one. `usual`: node, phase and a label. `all`: everything there is. */
export type Reads = 'label' | 'usual' | 'all';

export type Job = {
  readonly client: ClientName;
  readonly kind: 'sync' | 'watch' | 'informer' | 'slow';
  readonly kubeconfig: string;
  readonly pods: number;
  /** Updates after the initial state, one version each. */
  readonly events: number;
  readonly warmUp: number;
  /** Of Longwatch: fill by a stream or in pages. */
  readonly fill?: 'stream' | 'pages';
  readonly index?: 'label' | 'node' | 'none';
  /** Whether a handler is told of every change. */
  readonly hasHandler?: boolean;
  readonly objects?: 'decoded' | 'lazy';
  /** What whoever gets an object looks at: its version alone, as all do, or more: see `measured/client-reading.ts`. */
  readonly reads?: Reads;
  /** What the slow handler does for 1 ms. */
  readonly handler?: 'waits' | 'computes';
};

export type SyncResult = {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Of the process before it begins. */
  readonly baseBytes: number;
  readonly peakBytes: number;
  /** What is left when garbage is collected. */
  readonly heapBytes: number;
  /** How late a timer of 1 ms fired at worst: how long everybody else in the process had to wait. */
  readonly longestDelayMs: number;
};

export type StreamResult = { readonly perSecond: number; readonly perCpuSecond: number; readonly peakBytes: number };

export type SlowResult = { readonly lagsMs: readonly number[]; readonly handled: number; readonly peakBytes: number };

const nothing = { events: 0, warmUp: 0 };

export function runSync(job: Omit<Job, 'kind' | 'events' | 'warmUp'>, options: RunOptions): Promise<SyncResult> {
  return run<SyncResult>({ ...job, ...nothing, kind: 'sync' }, options);
}

export function runStream(job: Job & { kind: 'watch' | 'informer' }, options: RunOptions): Promise<StreamResult> {
  return run<StreamResult>(job, options);
}

export function runSlow(job: Omit<Job, 'kind' | 'warmUp'>, options: RunOptions): Promise<SlowResult> {
  return run<SlowResult>({ ...job, warmUp: 0, kind: 'slow' }, options);
}

type RunOptions = {
  readonly signal: AbortSignal;
  /** Where a profile of the process goes. */
  readonly profileFolder?: string | undefined;
};

/** Production, so that nothing is frozen; no inherited proxy or kubeconfig has a say. */
async function run<Result>(job: Job, { signal, profileFolder }: RunOptions): Promise<Result> {
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const child = forkBuilt(new URL('./measured/client-child.ts', import.meta.url), [JSON.stringify(job)], {
    env: { ...process.env, NODE_ENV: 'production' },
    flags: profiling,
    serialization: 'advanced',
  });
  const abort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  try {
    let result: Result | undefined;
    child.on('message', (message: Result) => {
      result = message;
      child.disconnect(); // which ends it
    });
    await once(child, 'exit');
    if (result === undefined)
      throw new Error(`Cannot measure ${job.client}: it ended with ${child.exitCode ?? child.signalCode}`);
    return result;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
