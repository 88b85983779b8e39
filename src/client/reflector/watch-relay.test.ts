import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import type { AnyObject } from '../objects/objects.ts';
import { type Relaying, WatchRelay } from './watch-relay.ts';
import { WatchRequest } from './watch-request.ts';

const LIFE_MS = 100_000;
/** Of such a life, a quarter is left when a successor is opened. */
const OLD_MS = 75_000;

/** A watch whose server is the test. */
class Sent {
  readonly request: WatchRequest<AnyObject>;
  accept = () => {};
  refuse = (_error: unknown) => {};
  /** Its generator has come to its end: nothing runs any more. */
  isEnded = false;
  opens = 0;

  constructor(clock: FakeClock, signal: AbortSignal) {
    const isAnswered = new Promise<void>((resolve, reject) => {
      this.accept = resolve;
      this.refuse = reject;
    });
    this.request = new WatchRequest<AnyObject>({
      send: ({ signal: cut, onOpen }) => this.#stream(isAnswered, cut, onOpen),
      onOpen: () => void this.opens++,
      ...{ version: '5', lifeMs: LIFE_MS, clock, signal },
    });
  }

  async *#stream(
    isAnswered: Promise<void>,
    cut: AbortSignal,
    onOpen: (headers: Record<string, string>) => void,
  ): AsyncGenerator<[], void, void> {
    const isCut = new Promise<never>((_, reject) => {
      cut.addEventListener('abort', () => reject(cut.reason), { once: true });
    });
    isCut.catch(() => {});
    try {
      await Promise.race([isAnswered, isCut]);
      onOpen({});
      await isCut;
      yield [];
    } finally {
      this.isEnded = true;
    }
  }
}

async function setUp(given: Partial<Relaying<AnyObject>> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const sent: Sent[] = [];
  const told: string[] = [];
  const send = () => {
    const one = new Sent(clock, stop.signal);
    sent.push(one);
    return one.request;
  };
  const relay = new WatchRelay<AnyObject>(send(), {
    openSuccessor: send,
    onAccepted: () => {
      told.push('accepted');
      return true;
    },
    onFailed: () => void told.push('failed'),
    ...given,
  });
  const first = sent[0]!;
  first.accept();
  await clock.advance(0);
  /** Turns the clock until the first one is old; its successor. */
  const grownOld = async () => {
    await clock.advance(OLD_MS);
    expect(sent.length).toBe(2);
    return sent[1]!;
  };
  const expectNothingLeft = async () => {
    relay[Symbol.dispose]();
    await clock.advance(10 * LIFE_MS);
    expect(sent.map(({ isEnded }) => isEnded)).toEqual(sent.map(() => true));
    expect(clock.sleeping).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  };
  return { clock, stop, sent, told, relay, first, grownOld, expectNothingLeft };
}

it('a successor that is accepted takes over, and grows old in its turn', async () => {
  const { clock, sent, told, relay, first, expectNothingLeft } = await setUp();
  await clock.advance(OLD_MS - 1);
  expect(sent.length).toBe(1);
  await clock.advance(1);
  const second = sent[1]!;
  expect([relay.current, relay.hasSuccessor]).toEqual([first.request, true]);
  await clock.advance(20_000);
  second.accept();
  await clock.advance(0);
  expect(told).toEqual(['accepted']);
  expect([relay.current, relay.hasSuccessor]).toEqual([second.request, false]);
  expect([first.request.isSuperseded, first.isEnded, second.isEnded]).toEqual([true, true, false]);
  await clock.advance(OLD_MS - 20_001); // its life began when it was sent
  expect(sent.length).toBe(2);
  await clock.advance(1);
  expect(sent.length).toBe(3);
  await clock.advance(10 * LIFE_MS); // it is not accepted, and nobody follows it
  expect(sent.length).toBe(3);
  await expectNothingLeft();
});

it('only one that was accepted and is read gets a successor, however long it takes', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  let opened = 0;
  const first = new Sent(clock, signal);
  const second = new Sent(clock, signal);
  using _relay = new WatchRelay(first.request, {
    openSuccessor: () => {
      opened++;
      return second.request;
    },
    ...{ onAccepted: () => true, onFailed: () => {} },
  });
  await clock.advance(10 * LIFE_MS);
  expect(opened).toBe(0);
  first.accept(); // late: it is old already
  await clock.advance(0);
  expect(opened).toBe(1);
  await clock.advance(10 * LIFE_MS);
  expect(opened).toBe(1);
});

it('a successor that is refused is broken off, and the stream goes on alone', async () => {
  const { clock, sent, told, relay, first, grownOld, expectNothingLeft } = await setUp();
  const second = await grownOld();
  await clock.advance(10 * LIFE_MS); // longer than its own life
  second.refuse(new Error('no'));
  await relay.decided();
  expect(told).toEqual(['failed']);
  expect([relay.current, relay.hasSuccessor, second.isEnded]).toEqual([first.request, false, true]);
  await clock.advance(10 * LIFE_MS);
  expect(sent.length).toBe(2);
  await expectNothingLeft();
});

it('a successor that is not wanted any more is broken off', async () => {
  const { clock, relay, told, first, grownOld, expectNothingLeft } = await setUp({ onAccepted: () => false });
  const second = await grownOld();
  second.accept();
  await relay.decided();
  await clock.advance(0);
  expect(told).toEqual(['failed']);
  expect([relay.current, first.isEnded, second.isEnded]).toEqual([first.request, false, true]);
  await expectNothingLeft();
});

it("the caller's abort breaks off both", async () => {
  const { clock, stop, relay, first, grownOld, expectNothingLeft } = await setUp();
  const second = await grownOld();
  stop.abort(new Error('over'));
  await relay.decided();
  await clock.advance(0);
  expect([first.isEnded, second.isEnded, second.opens]).toEqual([true, true, 0]);
  await expectNothingLeft();
});

it('a relay that is disposed breaks off both at once, and an answer that comes then changes nothing', async () => {
  const { clock, relay, told, first, grownOld, expectNothingLeft } = await setUp();
  const second = await grownOld();
  second.accept();
  relay[Symbol.dispose](); // in the moment in which the answer is here
  await clock.advance(0);
  expect([first.isEnded, second.isEnded]).toEqual([true, true]);
  expect([told, second.opens, relay.hasSuccessor]).toEqual([[], 0, false]);
  await expectNothingLeft();
});

it('a stream that breaks leaves its successor alone, which takes over when it is accepted', async () => {
  const { clock, relay, first, grownOld, expectNothingLeft } = await setUp();
  const second = await grownOld();
  first.request.fail(new Error('broken'));
  await expect(first.request.next()).rejects.toThrow('broken');
  expect([relay.current, second.isEnded]).toEqual([first.request, false]);
  second.accept();
  await relay.decided();
  expect(relay.current).toBe(second.request);
  await clock.advance(0);
  await expectNothingLeft();
});

it('a bug of whoever is told stops the reader, and breaks the successor off', async () => {
  const bug = new TypeError('bug');
  const { clock, relay, first, grownOld, expectNothingLeft } = await setUp({
    onAccepted: () => {
      throw bug;
    },
  });
  const second = await grownOld();
  second.accept();
  await expect(relay.decided()).rejects.toBe(bug);
  await expect(first.request.next()).rejects.toBe(bug);
  await clock.advance(0);
  expect(second.isEnded).toBe(true);
  await expectNothingLeft();
});

it('none is opened where none shall be', async () => {
  const { clock, sent, relay, expectNothingLeft } = await setUp({ openSuccessor: () => undefined });
  await clock.advance(10 * LIFE_MS);
  await relay.decided();
  expect([sent.length, relay.hasSuccessor]).toEqual([1, false]);
  await expectNothingLeft();
});
