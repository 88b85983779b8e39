/**
 * How much CPU a measured process spends between the sending of a request and its answer: what the request waited for,
 * whoever else had the machine's cores meanwhile.
 *
 * The process notes its CPU time in every turn of its loop and at every answer to a marked request; the client notes when
 * it sent each of them, one at a time, by the same clock of the system. Within the turn in which a request came, the
 * process is taken to have worked in the last part of it: before that it slept, or somebody else had its core.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

type Moment = { readonly atMs: number; readonly cpuMs: number };

export type AnswerTrace = { readonly turns: readonly Moment[]; readonly answers: readonly Moment[] };

const FINISHED = 'http.server.response.finish';

/** Of the system, the same in all processes. */
export function systemMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Until the function that comes back is called. `mark`: how the paths end whose answers count. */
export function traceAnswers(mark: string): () => AnswerTrace {
  const turns: Moment[] = [];
  const answers: Moment[] = [];
  let isOver = false;
  const turn = () => {
    turns.push(now());
    if (!isOver) setImmediate(turn).unref(); // does not keep the loop from sleeping
  };
  const finished = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.url?.endsWith(mark)) answers.push(now());
  };
  turn();
  subscribe(FINISHED, finished);
  return () => {
    isOver = true;
    unsubscribe(FINISHED, finished);
    return { turns, answers };
  };
}

/** One value for each request, in milliseconds. */
export function cpuBeforeAnswers({ turns, answers }: AnswerTrace, sentAtMs: readonly number[]): number[] {
  return sentAtMs.map((atMs, i) => answers[i]!.cpuMs - cpuAt(turns, atMs));
}

function cpuAt(turns: readonly Moment[], atMs: number): number {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (turns[middle]!.atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [turns[Math.max(0, low - 1)]!, turns[Math.min(low, turns.length - 1)]!];
  return Math.max(before.cpuMs, after.cpuMs - (after.atMs - atMs));
}

function now(): Moment {
  const { user, system } = process.cpuUsage();
  return { atMs: systemMs(), cpuMs: (user + system) / 1000 };
}
