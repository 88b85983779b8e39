/**
 * Asks one address for `/livez` again and again, from a process of its own, and says how long the worst answer took. Its
 * parent names the target and asks for the worst since the last time; run by victim.ts.
 *
 * Time in which the target's main thread or ours was ready and had no core is not counted: on a quiet machine nobody
 * would have waited for it.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { mainThreadTime } from './process-meter.ts';

export type ProbeOrder =
  | { readonly kind: 'aim'; readonly pid: number; readonly url: string; readonly ca?: string }
  | { readonly kind: 'worst' };
export type ProbeReport = {
  /** The longest that an answer, or the one still awaited, took. */
  readonly worstMs: number;
  readonly asked: number;
};

const PAUSE_MS = 15;

type Aim = { readonly pid: number; readonly ask: () => Promise<void> };

let aim: Aim | undefined;
let worstMs = 0;
let asked = 0;
let waiting: { readonly since: Moment; readonly pid: number } | undefined;

process.on('message', (order: ProbeOrder) => {
  if (order.kind === 'aim') {
    aim = aimAt(order.url, order.pid, order.ca);
    waiting = undefined;
    worstMs = 0;
    return;
  }
  if (waiting) worstMs = Math.max(worstMs, waitedMs(waiting.since, waiting.pid));
  process.send!({ worstMs, asked } satisfies ProbeReport);
  worstMs = 0;
  asked = 0;
});
process.on('disconnect', () => process.exit());

for (;;) {
  const target = aim;
  if (target) {
    const mine = { since: moment(target.pid), pid: target.pid };
    waiting = mine;
    try {
      await target.ask();
      asked++;
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

function queued(pid: number): number {
  try {
    return mainThreadTime(pid).queuedMs;
  } catch {
    return 0; // it is gone
  }
}

function aimAt(url: string, pid: number, ca: string | undefined): Aim {
  const { request, Agent } = url.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(ca && { ca }) });
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request(`${url}/livez`, { agent }, (response) => {
        response.resume();
        response.once('end', resolve);
        response.once('error', reject);
      });
      sent.once('error', reject);
      sent.end();
    });
  return { pid, ask };
}
