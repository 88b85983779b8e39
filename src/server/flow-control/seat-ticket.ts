/**
 * One request at its priority level: it enters, perhaps after waiting, and leaves.
 *
 *   new ─► waiting ─► inside ─► left          new, waiting ─► left: rejected, or its client has gone
 *
 * Always true: one `enter` has one answer; whichever door it leaves by, and however often, its seats are given back once
 * and no timer stays behind. Whoever gives up while waiting is counted as timed out, as kube-apiserver does. One that has
 * left has let go of its request: that of a watch stays for hours, to say at its end that there is one less.
 *
 * A seat is not the thread: whoever has waited for one, will work long or belongs to a flow that has used more than others
 * also waits for its turn. Else all that wait for seats could be served one after the other before a socket is looked at.
 */

import { type CpuAccount, runQueue } from '../event-loop/run-queue.ts';
import type { RequestKind } from '../request/request-kind.ts';
import type { FlowSchema } from './configuration/flow-objects.ts';
import { FlowRequest, ONE_SEAT, type RequestAbout, type WorkEstimate } from './fair-queuing/flow-request.ts';
import type { SeatTimer } from './fair-queuing/seat-timer.ts';
import type { FlowTicket, FlowUids, SeatObserver } from './flow-gate.ts';
import type { FlowObserver } from './flow-observer.ts';
import type { LevelState } from './priority-level/level-state.ts';
import type { WatcherCount } from './watcher-counts.ts';

export type SeatTicketOptions = {
  readonly account: CpuAccount;
  readonly level: LevelState;
  readonly schema: FlowSchema;
  readonly distinguisher: string;
  /** One seat without it. */
  readonly estimate: WorkEstimate | undefined;
  readonly waitSeconds: number;
  readonly kind: RequestKind;
  readonly isWatch: boolean;
  readonly about: RequestAbout;
  readonly timer: SeatTimer;
  readonly onSeat: SeatObserver | undefined;
  readonly observer: FlowObserver | undefined;
  /** Of the wall clock. */
  readonly second: () => number;
  /** Of schema and level. */
  readonly uids: FlowUids;
  /** Counts it as a watch, if it is one that counts. */
  readonly watch: () => WatcherCount | undefined;
};

export class SeatTicket implements FlowTicket {
  readonly account: CpuAccount;
  readonly uids: FlowUids;
  retryAfterSeconds = 1;
  /** Until it has left. */
  #asked: Asked | undefined;
  #state: 'new' | 'waiting' | 'inside' | 'left' = 'new';
  #settle: ((mayRun: boolean) => void) | undefined;
  #stopTimer: (() => void) | undefined;
  #watching: WatcherCount | undefined;
  #isClosed = false;
  #isGone = false;

  constructor(options: SeatTicketOptions) {
    const { account, uids, schema, distinguisher, estimate = ONE_SEAT, about } = options;
    this.account = account;
    this.uids = uids;
    const request = new FlowRequest(schema.name, distinguisher, estimate, () => this.#start(), about);
    this.#asked = { options, request };
  }

  enter(): boolean | Promise<boolean> {
    if (this.#state !== 'new') return this.#state === 'inside';
    const { options, request } = this.#asked!;
    const arrival = options.level.set.arrive(request);
    if (arrival === 'executing') {
      this.#start();
      return this.#mayRunAtOnce() || this.#turn();
    }
    if (arrival !== 'waiting') {
      this.#drop(arrival);
      // Whoever comes again at once, over and over, is not answered faster than others get their turns.
      return runQueue.mayRun(this.account) ? false : this.#turn().then(() => false);
    }
    this.#state = 'waiting';
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#stopTimer = options.timer.after(options.waitSeconds, () => this.giveUp());
    });
  }

  giveUp(): void {
    this.#isGone = true;
    if (this.#state !== 'waiting') return;
    const { options, request } = this.#asked!;
    options.level.set.eject(request);
    this.#drop('time-out');
    this.#answer(false);
  }

  leave(): void {
    this.giveUp();
    const asked = this.#asked;
    this.#asked = undefined;
    const wasInside = this.#state === 'inside';
    this.#state = 'left';
    if (!wasInside || !asked) return;
    const { options, request } = asked;
    options.level.set.finish(request);
    options.onSeat?.(options.kind, -1);
  }

  close(): void {
    this.#isClosed = true;
    this.#watching?.leave();
    this.#watching = undefined;
  }

  #start(): void {
    this.#state = 'inside';
    const { onSeat, kind, isWatch, watch } = this.#asked!.options;
    onSeat?.(kind, 1);
    if (isWatch && !this.#isClosed) this.#watching = watch();
    this.#answer(true);
  }

  #mayRunAtOnce(): boolean {
    const { options, request } = this.#asked!;
    if (options.level.config.queuing.kind === 'exempt') return true;
    return request.initialSeats === 1 && runQueue.mayRun(this.account);
  }

  /** False: whoever asked has gone meanwhile. */
  async #turn(): Promise<boolean> {
    await runQueue.requestTurn(this.account);
    return !this.#isGone;
  }

  #drop(reason: Parameters<FlowObserver['dropped']>[2]): void {
    this.#state = 'left';
    const { options, request } = this.#asked!;
    const { level, observer, second } = options;
    this.retryAfterSeconds = level.retryAfter.drop(second());
    observer?.dropped(level.config.name, request, reason);
  }

  #answer(mayRun: boolean): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const settle = this.#settle;
    this.#settle = undefined;
    if (!settle) return;
    if (mayRun) void this.#turn().then(settle);
    else settle(false);
  }
}

type Asked = { readonly options: SeatTicketOptions; readonly request: FlowRequest };
