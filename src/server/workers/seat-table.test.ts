import { describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { FlowRequest, ONE_SEAT } from '../flow-control/fair-queuing/flow-request.ts';
import { type QueueConfig, QueueSet } from '../flow-control/fair-queuing/queue-set.ts';
import { systemTimer } from '../flow-control/fair-queuing/seat-timer.ts';
import { InFlight } from '../flow-control/in-flight.ts';
import { SeatTable } from './seat-table.ts';

/** One table as so many threads see it. */
function tables(threads: number): SeatTable[] {
  const memory = SeatTable.memoryFor(threads);
  return Array.from({ length: threads }, (_, thread) => new SeatTable(memory, thread, threads));
}

const below = (limit: number) => (inUse: number) => inUse < limit;

describe('seats of several threads', () => {
  it('are one number for all under a name, and another under another', () => {
    const both = tables(2);
    const [one, other] = both.map((table) => table.counter('pods')!);
    expect([one!.take(1, below(2)), other!.take(1, below(2)), one!.take(1, below(2))]).toEqual([true, true, false]);
    expect([one!.inUse, other!.inUse]).toEqual([2, 2]);
    other!.giveBack(1);
    expect(one!.take(1, below(2))).toBe(true);
    expect(both[0]!.counter('nodes')!.inUse).toBe(0);
  });

  it('have room for hundreds of names, and say when there is none', () => {
    const [one, other] = tables(2) as [SeatTable, SeatTable];
    const found = Array.from({ length: 1200 }, (_, i) => one.counter(`level ${i}`));
    for (const [i, counter] of found.slice(0, 1000).entries()) expect(counter!.take(i + 1, () => true)).toBe(true);
    for (let i = 0; i < 1000; i++) expect(other.counter(`level ${i}`)!.inUse).toBe(i + 1);
    expect(found.at(-1)).toBeUndefined();
  });

  it('of a thread that died are given back, and those who wait hear of it', async () => {
    const [owner, dead, other] = tables(3) as [SeatTable, SeatTable, SeatTable];
    expect(dead.counter('a')!.take(3, below(3))).toBe(true);
    const counter = other.counter('a')!;
    expect(counter.take(1, below(3))).toBe(false);
    const freed = new Promise<void>((resolve) => counter.whenFree(counter.mark(), resolve));
    owner.release(1);
    await freed;
    expect(counter.inUse).toBe(0);
  });
});

describe('a limit of several threads', () => {
  const queueing: QueueConfig = { kind: 'queue', queues: 1, handSize: 1, queueLengthLimit: 10 };

  it('lets as many run as it says, and the next one wherever it waits', async () => {
    const sets = tables(3).map((table) => new QueueSet(queueing, 1, systemTimer, {}, table.counter('level')));
    const running: FlowRequest[] = [];
    const request = () => {
      const made: FlowRequest = new FlowRequest('schema', 'flow', ONE_SEAT, () => running.push(made));
      return made;
    };
    const first = request();
    expect(sets[0]!.arrive(first)).toBe('executing');
    const waiting = sets.map((set) => {
      const one = request();
      expect(set.arrive(one)).toBe('waiting');
      return { set, one };
    });
    sets[0]!.finish(first);
    for (let n = 1; n <= 3; n++) {
      await eventually(() => expect(running).toHaveLength(n));
      expect(sets[0]!.seatsInUseByAll).toBe(1);
      const { set, one } = waiting.find(({ one: its }) => its === running.at(-1))!;
      set.finish(one);
    }
    expect(sets.map((set) => [set.seatsInUse, set.waiting, set.seatsInUseByAll])).toEqual(Array(3).fill([0, 0, 0]));
  });

  it('gives a wide request all seats at once, and back as many as it took', async () => {
    const [one, other] = tables(2).map((t) => new QueueSet(queueing, 2, systemTimer, {}, t.counter('level')));
    const narrow = new FlowRequest('schema', 'flow', ONE_SEAT);
    expect(one!.arrive(narrow)).toBe('executing');
    let hasBegun = false;
    const wide = new FlowRequest('schema', 'flow', { initialSeats: 1, finalSeats: 9, extraSeconds: 0 }, () => {
      hasBegun = true;
    });
    expect(other!.arrive(wide)).toBe('waiting');
    one!.finish(narrow);
    await eventually(() => expect(hasBegun).toBe(true));
    expect(one!.seatsInUseByAll).toBe(2);
    other!.finish(wide);
    expect([one!.seatsInUseByAll, other!.seatsInUse, other!.waitingSeats]).toEqual([0, 0, 0]);
  });

  it('holds without flow control too', () => {
    const limits = { maxReadOnly: 1, maxMutating: 2 };
    const [one, other] = tables(2).map((t) => new InFlight(limits, undefined, (kind) => t.counter(kind)));
    expect([one!.take('readOnly'), other!.take('readOnly'), other!.take('mutating')]).toEqual([true, false, true]);
    one!.giveBack('readOnly');
    expect(other!.take('readOnly')).toBe(true);
  });
});
