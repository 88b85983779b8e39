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
  /** CPU time of the target's main thread between each question and its answer: what it did before, up to a limit. */
  readonly cpusMs: readonly number[];
};
/** What is asked for; anything but a 200 is taken for no answer. */
export type Probed = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Any certificate will do. */
  readonly isTrusting: boolean;
};

const PAUSE_MS = 15;
const MOST_ANSWERS = 10_000;

type Aim = { readonly pid: number; readonly ask: () => Promise<void> };

let aim: Aim | undefined;
let worstMs = 0;
let asked = 0;
let cpusMs: number[] = [];
let waiting: { readonly since: Moment; readonly pid: number } | undefined;

process.on('message', (order: ProbeOrder) => {
  if (order.kind === 'aim') {
    aim = aimAt(order);
    waiting = undefined;
    worstMs = 0;
    cpusMs = [];
    return;
  }
  if (waiting) worstMs = Math.max(worstMs, waitedMs(waiting.since, waiting.pid));
  process.send!({ worstMs, asked, cpusMs } satisfies ProbeReport);
  worstMs = 0;
  asked = 0;
  cpusMs = [];
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
      if (target === aim && cpusMs.length < MOST_ANSWERS) cpusMs.push(spentMs(target.pid) - mine.spentMs);
    } catch {
      // Whether the process lives is its parent's business; a broken connection is asked again.
    }
    if (target === aim && waiting === mine) worstMs = Math.max(worstMs, waitedMs(mine.since, target.pid));
    waiting = undefined;
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

type Moment = { readonly atMs: number; readonly queuedMs: number };

function moment(pid: number): Moment {
  return { atMs: performance.now(), queuedMs: queued(pid) + queued(process.pid) };
}

function waitedMs(since: Moment, pid: number): number {
  const now = moment(pid);
  return Math.max(0, now.atMs - since.atMs - (now.queuedMs - since.queuedMs));
}

function spentMs(pid: number): number {
  return mainThreadTime(pid).cpuMs;
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
  return { pid, ask };
}
