import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import { SeatTable } from '../seat-table.ts';
import { type CopySource, PortShare, type SharedPort } from './port-share.ts';

const LONG_MS = 60_000;

/** Workers on one port, whose connections go to whichever listens and comes first in the order that is given. */
class Workers {
  readonly clock = new FakeClock();
  readonly table: (thread: number) => SeatTable;
  readonly #unheard = new Map<number, (() => void)[]>();
  readonly #workers = new Map<number, { isListening: boolean; readonly open: EventEmitter[]; share: PortShare }>();

  constructor(count: number, copies = Number.POSITIVE_INFINITY) {
    const memory = SeatTable.memoryFor(count + 1);
    this.table = (thread) => new SeatTable(memory, thread, count + 1);
    for (let number = 1; number <= count; number++) this.add(number, copies);
  }

  add(number: number, copies = Number.POSITIVE_INFINITY): void {
    let left = copies;
    const source: CopySource = {
      get hasOne() {
        return left > 0;
      },
      take: () => ({ fd: left--, close: () => {} }),
      close: async () => {},
    };
    this.#unheard.delete(number);
    const share = PortShare.of(this.#hangableTable(number), source, this.clock)!;
    const worker = { isListening: true, open: [], share };
    const port: SharedPort = {
      listen: () => {
        worker.isListening = true;
      },
      letGo: () => {
        worker.isListening = false;
      },
    };
    this.#workers.set(number, worker);
    share.begin(port);
  }

  /** It hears of nothing, until it wakes. */
  hang(number: number): void {
    this.#unheard.set(number, []);
  }

  wake(number: number): void {
    const unheard = this.#unheard.get(number)!;
    this.#unheard.delete(number);
    for (const callback of unheard) callback();
  }

  #hangableTable(number: number): SeatTable {
    const table = this.table(number);
    const counterOf = table.counter.bind(table);
    table.counter = (name) => {
      const counter = counterOf(name)!;
      const whenFree = counter.whenFree.bind(counter);
      counter.whenFree = (mark, callback) =>
        whenFree(mark, () => {
          const unheard = this.#unheard.get(number);
          if (unheard) unheard.push(callback);
          else callback();
        });
      return counter;
    };
    return table;
  }

  get listening(): number[] {
    return [...this.#workers].filter(([, { isListening }]) => isListening).map(([number]) => number);
  }

  get open(): number[] {
    return [...this.#workers.values()].map(({ open }) => open.length);
  }

  /** False: nobody listens. */
  connect(order: readonly number[]): boolean {
    const number = order.find((one) => this.#workers.get(one)!.isListening);
    if (number === undefined) return false;
    const socket = new EventEmitter();
    const { open, share } = this.#workers.get(number)!;
    open.push(socket);
    share.taken(socket as never);
    return true;
  }

  hangUp(number: number, count: number): void {
    for (const socket of this.#workers.get(number)!.open.splice(0, count)) socket.emit('close');
  }

  close(number: number): Promise<void> {
    return this.#workers.get(number)!.share.close();
  }
}

/** Long enough for a thread to hear what another rang for. */
async function heard(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('connections that go to whoever comes first', () => {
  it.each([2, 3, 5])('are shared out evenly among %i workers, within a few per cent', async (count) => {
    const workers = new Workers(count);
    const order = Array.from({ length: count }, (_, i) => i + 1);
    for (let n = 0; n < 200 * count; n++) {
      expect(workers.connect(order)).toBe(true);
      await heard();
      const most = Math.max(...workers.open);
      expect(most - Math.min(...workers.open)).toBeLessThanOrEqual(5 + most / 32);
    }
  });

  it('are shared out again after those of one worker have gone', async () => {
    const workers = new Workers(2);
    for (let n = 0; n < 100; n++) {
      workers.connect([1, 2]);
      await heard();
    }
    workers.hangUp(2, 40);
    for (let n = 0; n < 40; n++) workers.connect([1, 2]);
    const [one, other] = workers.open as [number, number];
    expect(Math.abs(one - other)).toBeLessThanOrEqual(8);
  });

  it('wait for nobody where one worker is all there is', () => {
    const workers = new Workers(1);
    for (let n = 0; n < 100; n++) expect(workers.connect([1])).toBe(true);
    expect(workers.open).toEqual([100]);
  });

  it('go to whoever takes them while there are no copies to listen on again', () => {
    const workers = new Workers(2, 0);
    for (let n = 0; n < 100; n++) expect(workers.connect([1, 2])).toBe(true);
    expect(workers.open).toEqual([100, 0]);
  });
});

describe('a worker that pauses', () => {
  function pausing(workers: Workers): void {
    while (workers.listening.length === 2) workers.connect([1]);
    expect(workers.listening).toEqual([2]);
  }

  it('listens again when it is level with the other, also because its own connections end', async () => {
    const workers = new Workers(2);
    pausing(workers);
    workers.hangUp(1, workers.open[0]!);
    expect(workers.listening).toEqual([1, 2]);
    pausing(workers);
    for (let n = workers.open[0]!; n > 0; n--) workers.connect([2]);
    await eventually(() => expect(workers.listening).toEqual([1, 2]));
  });

  it('goes on pausing while the other answers, however long nobody comes', async () => {
    const workers = new Workers(2);
    pausing(workers);
    for (let turn = 0; turn < 20; turn++) {
      await heard();
      await workers.clock.advance(50);
    }
    expect(workers.listening).toEqual([2]);
  });

  it('listens again when the other dies', async () => {
    const workers = new Workers(2);
    pausing(workers);
    workers.table(0).release(2);
    await eventually(() => expect(workers.listening).toContain(1));
  });

  it('listens again when the other stops', async () => {
    const workers = new Workers(2);
    pausing(workers);
    await workers.close(2);
    await eventually(() => expect(workers.listening).toContain(1));
  });

  it('stays away from the port when it is stopped itself', async () => {
    const workers = new Workers(2);
    pausing(workers);
    await workers.close(1);
    workers.table(0).release(2);
    await workers.clock.advance(LONG_MS);
    expect(workers.listening).toEqual([2]);
  });
});

describe('a worker that hangs', () => {
  function pausedBefore(workers: Workers): void {
    while (workers.listening.includes(1)) workers.connect([1]);
  }

  it('is not waited for: who pauses for it listens again when it does not answer, and does not pause any more', async () => {
    const workers = new Workers(2);
    workers.hang(2);
    pausedBefore(workers);
    await workers.clock.advance(50);
    expect(workers.listening).toContain(1);
    for (let n = 0; n < 100; n++) {
      workers.connect([1]);
      expect(workers.listening).toContain(1);
    }
  });

  it('is paused for again as soon as it answers', async () => {
    const workers = new Workers(2);
    workers.hang(2);
    pausedBefore(workers);
    await workers.clock.advance(50);
    expect(workers.listening).toContain(1);
    workers.wake(2);
    workers.connect([1]);
    expect(workers.listening).toEqual([2]);
  });

  it('does not keep another from being paused for', async () => {
    const workers = new Workers(3);
    workers.hang(2);
    pausedBefore(workers);
    await workers.clock.advance(50);
    expect(workers.listening).toEqual([2, 3]);
    while (workers.open[2]! < workers.open[0]!) workers.connect([3]);
    await eventually(() => expect(workers.listening).toContain(1));
  });

  it('is forgotten with its silence when it dies: who comes in its place is paused for', async () => {
    const workers = new Workers(2);
    await heard();
    workers.hang(2);
    pausedBefore(workers);
    await workers.clock.advance(50);
    expect(workers.listening).toContain(1);
    workers.table(0).release(2);
    await heard();
    workers.add(2);
    await heard();
    workers.connect([1]);
    expect(workers.listening).toEqual([2]);
  });
});
