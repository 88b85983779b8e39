/**
 * A measured process as the benchmarks see it: started, asked, measured, and stopped by its own id, whatever happened.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerOptions } from '../../src/server/index.ts';
import { forkBuilt } from './fork-built.ts';
import { type Done, percentile } from './measure.ts';
import type { Memory, Order, Ready, Usage } from './server-control.ts';
import type { ServerContext } from './server-report.ts';

/** One round of one phase: CPU and delays of the measured process, the rest as the client saw it. */
export type Phase = {
  readonly operations: number;
  readonly perSecond: number;
  readonly cpuMicrosPerOperation: number;
  /** Of the thread that had the most of it: the others may work beside it. Undefined where the system does not tell. */
  readonly busiestMicrosPerOperation: number | undefined;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly loop: { readonly p99Ms: number; readonly maxMs: number };
};

const REST_MS = 100;
const STOP_LIMIT_MS = 10_000;

export class MeasuredProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #context: ServerContext;
  readonly #exited: Promise<unknown>;
  readonly #abort: () => void;
  readonly ready: Ready;

  private constructor(child: ChildProcess, exited: Promise<unknown>, ready: Ready, context: ServerContext) {
    this.#child = child;
    this.#context = context;
    this.#exited = exited;
    this.ready = ready;
    this.#abort = () => child.kill('SIGKILL');
    context.signal.addEventListener('abort', this.#abort, { once: true });
  }

  /** The server under test on its data. */
  static startServer(context: ServerContext, dataDir: string): Promise<MeasuredProcess> {
    return MeasuredProcess.start(context, new URL('./children/server-child.ts', import.meta.url), dataDir);
  }

  /** The same with other options than the usual ones. */
  static startServerWith(context: ServerContext, options: ServerOptions): Promise<MeasuredProcess> {
    return MeasuredProcess.start(
      context,
      new URL('./children/server-child.ts', import.meta.url),
      JSON.stringify(options),
    );
  }

  /** Bare Node, with the certificates in that folder. */
  static startBare(context: ServerContext, dataDir: string): Promise<MeasuredProcess> {
    return MeasuredProcess.start(context, new URL('./children/reference-child.ts', import.meta.url), dataDir);
  }

  static async start(context: ServerContext, script: URL, told: string): Promise<MeasuredProcess> {
    const child = forkBuilt(script, [told]);
    const exited = once(child, 'exit');
    const ready = await answerOf<Ready>(child, exited, context.signal).catch((err: unknown) => {
      child.kill('SIGKILL');
      throw err;
    });
    return new MeasuredProcess(child, exited, ready, context);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  ask<Answer>(order: Order): Promise<Answer> {
    const answer = answerOf<Answer>(this.#child, this.#exited, this.#context.signal);
    this.#child.send(order);
    return answer;
  }

  /** The child's part of what `phase` costs, after a pause in which both sides come to rest. */
  async measure(name: string, phase: () => Promise<Done>): Promise<Phase> {
    globalThis.gc?.();
    await sleep(REST_MS);
    const end = await this.begin(name);
    const begin = performance.now();
    const { operations, latenciesMs } = await phase();
    const seconds = (performance.now() - begin) / 1000;
    const { cpuMicros, busiestMicros, loop } = await end();
    const sorted = Float64Array.from(latenciesMs).sort() as unknown as number[];
    return {
      operations,
      perSecond: operations / seconds,
      cpuMicrosPerOperation: cpuMicros / operations,
      busiestMicrosPerOperation: busiestMicros === undefined ? undefined : busiestMicros / operations,
      p50Ms: percentile(sorted, 50),
      p99Ms: percentile(sorted, 99),
      loop,
    };
  }

  /** From here on it measures itself, and samples where its time goes if that is asked for; until what is answered is called. */
  async begin(name: string): Promise<() => Promise<Usage>> {
    const { profileFolder } = this.#context;
    const profileTo = profileFolder && join(profileFolder, `${name.replaceAll(/\W+/g, '-')}.cpuprofile`);
    if (profileTo) mkdirSync(profileFolder, { recursive: true });
    await this.ask({ kind: 'begin', ...(profileTo && { profileTo }) });
    return async () => {
      const usage = await this.ask<Usage>({ kind: 'end' });
      if (profileTo) this.#context.say(hottest(name, profileTo));
      return usage;
    };
  }

  memory(): Promise<Memory> {
    return this.ask<Memory>({ kind: 'memory' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#context.signal.removeEventListener('abort', this.#abort);
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    if (this.#child.connected && this.#child.exitCode === null) this.#child.send({ kind: 'stop' } satisfies Order);
    await this.#exited;
    clearTimeout(limit);
  }
}

async function answerOf<Answer>(child: ChildProcess, exited: Promise<unknown>, signal: AbortSignal): Promise<Answer> {
  const waiting = new AbortController();
  const answered = once(child, 'message', { signal: AbortSignal.any([signal, waiting.signal]) });
  const gone = exited.then(() => {
    throw new Error(`Cannot measure: process ${child.pid} ended with ${child.exitCode ?? child.signalCode}`);
  });
  gone.catch(() => {}); // it may end long after the answer
  try {
    const [answer] = (await Promise.race([answered, gone])) as [Answer];
    return answer;
  } finally {
    waiting.abort();
    answered.catch(() => {});
  }
}

type ProfileNode = { id: number; callFrame: { functionName: string; url: string; lineNumber: number } };
type Profile = { nodes: ProfileNode[]; samples: number[]; timeDeltas: number[] };

const HOTTEST = 25;

/** Where the main thread spent its time, by function; `(program)` is native code and the system's part. */
function hottest(name: string, file: string): string {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const places = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${url.replace(/^.*\/(?=\w+\/[^/]+$)/, '')}:${lineNumber + 1}`,
    ]),
  );
  const self = new Map<string, number>();
  let busy = 0;
  for (const [i, id] of samples.entries()) {
    const place = places.get(id)!;
    if (place.startsWith('(idle)')) continue;
    busy += timeDeltas[i]!;
    self.set(place, (self.get(place) ?? 0) + timeDeltas[i]!);
  }
  const top = [...self].sort(([, a], [, b]) => b - a).slice(0, HOTTEST);
  const lines = top.map(([place, micros]) => `  ${((micros * 100) / busy).toFixed(1).padStart(5)} %  ${place}`);
  return [`${name}: ${Math.round(busy / 1000)} ms of work in ${file}`, ...lines].join('\n');
}
