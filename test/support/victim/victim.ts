/**
 * A process that is attacked and measured: it runs a script of ours, is asked for `/livez` all the while by a process
 * beside it, and is read from outside. One that does not come back is killed and started again on the same folder.
 *
 * What work costs is what the main thread spent until it was quiet again, also after the answer. Work that spends more than `CUT_OFF_CPU_MS` or lasts longer than `CUT_OFF_MS` is not waited for.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Probed, ProbeOrder, ProbeReport, Spent } from './probe-process.ts';
import { forgetPeak, mainThreadTime, memoryOf } from './process-meter.ts';

const CUT_OFF_CPU_MS = 6_000;
const CUT_OFF_MS = 60_000;
const WATCH_MS = 50;
const QUIET_MS = 12;
/** Above the probe's own share of `QUIET_MS`. */
const QUIET_CPU_MS = 3;
/** What a process holds of its own before its garbage is worth collecting. */
const TIDY_BYTES = 96 * 1024 * 1024;

export type Cost = {
  readonly cpuMs: number;
  /** How long the worst `/livez` was without an answer. */
  readonly heldMs: number;
  /** How much more memory it held than before. */
  readonly grownBytes: number;
  readonly isCutOff: boolean;
};

export type Ready = { readonly kind: 'ready'; readonly url: string };
/** Told by the process at any time: something that is nobody's fault but its own. */
export type Fault = { readonly kind: 'fault'; readonly text: string };

type VictimOptions = {
  readonly script: URL;
  readonly args: readonly string[];
  /** The authority of its `/livez`, once it is ready. */
  readonly authority?: (ready: Ready) => string;
};

export class Victim<R extends Ready = Ready> implements AsyncDisposable {
  readonly #options: VictimOptions;
  readonly #probe = forked(new URL('probe-process.ts', import.meta.url), []);
  #child: ChildProcess | undefined;
  #ready: R | undefined;
  #faults: string[] = [];
  #restBytes = 0;
  #authority: string | undefined;

  constructor(options: VictimOptions) {
    this.#options = options;
  }

  static async start<R extends Ready>(options: VictimOptions): Promise<Victim<R>> {
    const victim = new Victim<R>(options);
    await victim.restart();
    return victim;
  }

  /** What it said when it was ready; another address after a restart. */
  get ready(): R {
    if (!this.#ready) throw new Error('Cannot reach the victim: it is not running');
    return this.#ready;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get isAlive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async restart(): Promise<void> {
    await this.#kill();
    const { script, args, authority } = this.#options;
    const child = forked(script, args);
    this.#child = child;
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`Cannot start the victim: it exited with ${code}`);
    });
    exited.catch(() => {});
    child.on('message', (message: Partial<Fault>) => {
      if (message.kind === 'fault') this.#faults.push(message.text!);
    });
    this.#ready = (await Promise.race([nextMessage(child), exited])) as R;
    this.#authority = authority?.(this.#ready);
    this.probe();
    await this.#settle(this.pid);
    this.#restBytes = memoryOf(this.pid).nowBytes;
  }

  /** From now on this is asked for, all the while; `/livez` without it. */
  probe(probed: Partial<Probed> = {}): void {
    const ca = this.#authority;
    this.#probe.send({
      kind: 'aim',
      pid: this.pid,
      url: this.ready.url,
      ...(ca && { ca }),
      ...probed,
    } satisfies ProbeOrder);
  }

  /** What the process works between each of the next so many questions of the probe and its answer, the least first. */
  async cpusMs(count: number, part: keyof Spent = 'allMs'): Promise<readonly number[]> {
    await this.#report();
    const cpus: number[] = [];
    while (cpus.length < count) {
      if (!this.isAlive) throw new Error('the process is gone');
      await pause(WATCH_MS);
      for (const spent of (await this.#report()).spent) cpus.push(spent[part]);
    }
    return cpus.sort((a, b) => a - b);
  }

  /** Sends the child something and waits for what it says. */
  async tell<T>(message: object | string): Promise<T> {
    return (await askChild(this.#child!, message)) as T;
  }

  /** What the process has said to be its own fault, since the last time. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  /** Memory after its garbage is gone. */
  async memoryAtRest(): Promise<number> {
    await this.tell('collect');
    return memoryOf(this.pid).nowBytes;
  }

  async measure(work: () => Promise<unknown>): Promise<Cost> {
    const { pid } = this;
    if (memoryOf(pid).nowBytes > this.#restBytes + TIDY_BYTES) this.#restBytes = await this.memoryAtRest();
    await this.#worstMs();
    const held = memoryOf(pid).nowBytes;
    forgetPeak(pid);
    const before = mainThreadTime(pid).cpuMs;
    const isCutOff = await this.#runWatched(work, before);
    const heldMs = await this.#worstMs();
    if (!this.isAlive) throw new Error('the process is gone');
    const cpuMs = mainThreadTime(pid).cpuMs - before;
    const grownBytes = memoryOf(pid).peakBytes - held;
    if (isCutOff) await this.restart();
    return { cpuMs, heldMs, grownBytes: Math.max(0, grownBytes), isCutOff };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#probe.kill('SIGKILL');
    await this.#kill();
  }

  /** True: it was given up, and the process still is at it. */
  async #runWatched(work: () => Promise<unknown>, cpuBefore: number): Promise<boolean> {
    const { pid } = this;
    const startedMs = performance.now();
    let outcome: { error?: unknown } | undefined;
    const done = work()
      .then(() => this.#settle(pid))
      .then(
        () => {
          outcome = {};
        },
        (error: unknown) => {
          outcome = { error };
        },
      );
    for (;;) {
      await Promise.race([done, pause(WATCH_MS)]);
      if (!this.isAlive) return false;
      if (outcome?.error !== undefined) throw outcome.error;
      if (outcome) return false;
      const spentMs = mainThreadTime(pid).cpuMs - cpuBefore;
      if (spentMs > CUT_OFF_CPU_MS || performance.now() - startedMs > CUT_OFF_MS) return true;
    }
  }

  /** Until the main thread has nothing to do but to answer the probe. */
  async #settle(pid: number): Promise<void> {
    for (let isQuiet = false; !isQuiet; ) {
      if (!this.isAlive) return;
      const before = mainThreadTime(pid);
      await pause(QUIET_MS);
      if (!this.isAlive) return;
      const after = mainThreadTime(pid);
      isQuiet = after.cpuMs - before.cpuMs < QUIET_CPU_MS && after.queuedMs - before.queuedMs < QUIET_MS / 2;
    }
  }

  async #worstMs(): Promise<number> {
    return (await this.#report()).worstMs;
  }

  async #report(): Promise<ProbeReport> {
    return (await askChild(this.#probe, { kind: 'worst' } satisfies ProbeOrder)) as ProbeReport;
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    if (!child || !this.isAlive) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

function forked(script: URL, args: readonly string[]): ChildProcess {
  return fork(script, args, {
    execArgv: ['--import', 'tsx', '--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

function askChild(child: ChildProcess, message: object | string): Promise<unknown> {
  const answer = nextMessage(child);
  child.send(message);
  return answer;
}

/** The next that is no fault. */
async function nextMessage(child: ChildProcess): Promise<unknown> {
  for (;;) {
    const [message] = await once(child, 'message');
    if ((message as Partial<Fault>).kind !== 'fault') return message;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
