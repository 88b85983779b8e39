/**
 * One priority level at work: its configuration, the seats it has, the queues in front of them, and what is remembered
 * of it from one look at the demand to the next.
 */

import type { SeatCounter } from '../../workers/seat-table.ts';
import type { PriorityLevel } from '../configuration/flow-objects.ts';
import { QueueSet, type QueueSetObserver } from '../fair-queuing/queue-set.ts';
import type { SeatTimer } from '../fair-queuing/seat-timer.ts';
import { Demand } from './demand.ts';
import { RetryAfter } from './retry-after.ts';
import type { LevelDemand, LevelLimits, LevelShares } from './seat-limits.ts';

/** Numbers of the last look, for those who measure. */
export type LevelLook = { highWatermark: number; average: number; deviation: number; target: number };

export class LevelState {
  config: PriorityLevel;
  limits: LevelLimits;
  /** It is configured no more, and goes when nobody is in it. */
  isQuiescing = false;
  readonly set: QueueSet;
  readonly demand: Demand;
  readonly retryAfter: RetryAfter = new RetryAfter();
  readonly look: LevelLook = { highWatermark: 0, average: 0, deviation: 0, target: 0 };

  constructor(
    config: PriorityLevel,
    limits: LevelLimits,
    timer: SeatTimer,
    observer: QueueSetObserver = {},
    shared?: SeatCounter,
  ) {
    this.config = config;
    this.limits = limits;
    this.demand = new Demand(() => timer.now());
    const { demand } = this;
    const changed = (set: QueueSet) => {
      demand.set(set.seatsInUseByAll + set.waitingSeats, set.at);
      observer.changed?.(set);
    };
    this.set = new QueueSet(config.queuing, limits.nominal, timer, { ...observer, changed }, shared);
  }

  get isExempt(): boolean {
    return this.config.queuing.kind === 'exempt';
  }

  configure(config: PriorityLevel): void {
    this.config = config;
    this.isQuiescing = false;
    if (JSON.stringify(config.queuing) !== JSON.stringify(this.set.config)) this.set.configure(config.queuing);
  }

  /** What was asked for since the last look. */
  lookAtDemand(): LevelDemand {
    const { average, deviation, highWatermark } = this.demand.look();
    Object.assign(this.look, { average, deviation, highWatermark });
    return { limits: this.limits, isExempt: this.isExempt, highWatermark, smoothed: this.demand.smoothed };
  }
}

export function sharesOf({ shares, lendablePercent, borrowingLimitPercent, queuing }: PriorityLevel): LevelShares {
  return {
    shares,
    lendablePercent,
    borrowingLimitPercent,
    isExempt: queuing.kind === 'exempt',
    handSize: queuing.kind === 'queue' ? queuing.handSize : undefined,
  };
}
