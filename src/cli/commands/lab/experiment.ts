/**
 * What an experiment is: a story, a run that breaks something for real, once without and once with the remedy, and what
 * it promised to show. Whether that was seen is part of the outcome, so that a machine can run them too.
 */
import type { KubeClient } from '../../../client/index.ts';
import type { TestServer, TestServerOptions } from '../../../testing/index.ts';

export type Experiment = {
  readonly name: string;
  readonly title: string;
  /** What is going to happen, and why it does in real life. */
  readonly story: readonly string[];
  readonly remedy: string;
  run(lab: Lab): Promise<Outcome>;
};

/** The same things measured twice, in the same order. */
export type Side = {
  readonly rows: readonly (readonly [what: string, value: string])[];
  /** Lines as they stand in the logs of clients and servers. */
  readonly seen: readonly string[];
};

export type Outcome = {
  readonly without: Side;
  readonly with: Side;
  readonly promises: readonly { readonly claim: string; readonly isSeen: boolean }[];
};

/** What an experiment has to work with; everything it makes is gone after it. */
export type Lab = {
  readonly signal: AbortSignal;
  /** A server of its own, on this machine, that goes with the experiment. */
  server(options?: TestServerOptions): Promise<TestServer>;
  client(server: { readonly kubeconfigPath: string }): Promise<KubeClient>;
  /** Keeps something until the experiment is over. */
  keep<T extends AsyncDisposable>(one: T): T;
  /** A point of the live plot. */
  plot(what: string, value: number): void;
  say(line: string): void;
};

/** Until it holds; throws when the experiment's time is over. */
export async function until(lab: Lab, holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await rest(lab, 20);
}

export async function rest(lab: Lab, ms: number): Promise<void> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, { signal: lab.signal });
}

/** Stops when the work is done, or with the experiment. */
export function stoppable(lab: Lab): { readonly signal: AbortSignal; stop(): void } {
  const own = new AbortController();
  return { signal: AbortSignal.any([lab.signal, own.signal]), stop: () => own.abort() };
}
