/**
 * Asks one address for `/livez`, or for what its parent wants, again and again, from a process of its own, and says how
 * long the answers took. Its parent names the target and asks for what was since the last time; run by victim.ts.
 *
 * Time in which the target's main thread or ours was ready and had no core is not counted: on a quiet machine nobody
 * would have waited for it.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { mainThreadTime } from './process-meter.ts';

export type ProbeOrder =
  | ({ readonly kind: 'aim'; readonly pid: number; readonly url: string; readonly ca?: string } & Partial<Probed>)
  | { readonly kind: 'worst' };
export type ProbeReport = {
  /** The longest that an answer, or the one still awaited, took. */
  readonly worstMs: number;
  readonly asked: number;
  /** Of each question, up to a limit. */
  readonly spent: readonly Spent[];
};
/** CPU time of the target's main thread between a question and the end of its answer. */
export type Spent = {
  readonly allMs: number;
  /** Less what it may have worked on while a short answer was there, and we had no core to read it. */
  readonly beforeAnswerMs: number;
};
/** What is asked for; anything but a 200 is taken for no answer. */
export type Probed = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Any certificate will do. */
  readonly isTrusting: boolean;
  /** Between an answer and the next question. */
  readonly pauseMs: number;
};

const PAUSE_MS = 15;
const MOST_ANSWERS = 10_000;

type Aim = { readonly pid: number; readonly pauseMs: number; readonly ask: () => Promise<void> };

let aim: Aim | undefined;
let worstMs = 0;
let asked = 0;
let spent: Spent[] = [];
let waiting: { readonly since: Moment; readonly pid: number } | undefined;

process.on('message', (order: ProbeOrder) => {
  if (order.kind === 'aim') {
    aim = aimAt(order);
    waiting = undefined;
    worstMs = 0;
    spent = [];
    return;
  }
  if (waiting) worstMs = Math.max(worstMs, waitedMs(waiting.since, waiting.pid));
  process.send!({ worstMs, asked, spent } satisfies ProbeReport);
  worstMs = 0;
  asked = 0;
  spent = [];
});
process.on('disconnect', () => process.exit());

for (;;) {
  const target = aim;
  if (target) {
    const mine = { since: moment(target.pid), spentMs: spentMs(target.pid), pid: target.pid };
    waiting = mine;
    try {
      await target.ask();
      asked++;
      if (target === aim && spent.length < MOST_ANSWERS) spent.push(spentSince(mine.spentMs, mine.since, target.pid));
    } catch {
      // Whether the process lives is its parent's business; a broken connection is asked again.
    }
    if (target === aim && waiting === mine) worstMs = Math.max(worstMs, waitedMs(mine.since, target.pid));
    waiting = undefined;
  }
  await new Promise((resolve) => setTimeout(resolve, target?.pauseMs ?? PAUSE_MS));
}

type Moment = { readonly atMs: number; readonly queuedMs: number; readonly ownQueuedMs: number };

function moment(pid: number): Moment {
  const ownQueuedMs = queued(process.pid);
  return { atMs: performance.now(), queuedMs: queued(pid) + ownQueuedMs, ownQueuedMs };
}

function waitedMs(since: Moment, pid: number): number {
  const now = moment(pid);
  return Math.max(0, now.atMs - since.atMs - (now.queuedMs - since.queuedMs));
}

function spentMs(pid: number): number {
  return mainThreadTime(pid).cpuMs;
}

function spentSince(beforeMs: number, since: Moment, pid: number): Spent {
  const allMs = spentMs(pid) - beforeMs;
  return { allMs, beforeAnswerMs: Math.max(0, allMs - (queued(process.pid) - since.ownQueuedMs)) };
}

function queued(pid: number): number {
  try {
    return mainThreadTime(pid).queuedMs;
  } catch {
    return 0; // it is gone
  }
}

function aimAt({
  url,
  pid,
  ca,
  path = '/livez',
  headers = {},
  isTrusting = false,
  pauseMs = PAUSE_MS,
}: Extract<ProbeOrder, { kind: 'aim' }>): Aim {
  const { request, Agent } = url.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(ca && { ca }), rejectUnauthorized: !isTrusting });
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request(url + path, { agent, headers }, (response) => {
        response.resume();
        response.once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error('refused'))));
        response.once('error', reject);
      });
      sent.once('error', reject);
      sent.end();
    });
  return { pid, pauseMs, ask };
}
