import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { CpuAccount, RunQueue } from './run-queue.ts';
import { WorkSlices } from './work-slices.ts';

/** A queue by a clock that goes on when somebody works, and only then: what else the machine does is nobody's to be charged. */
function queueOfSteps(): { readonly queue: RunQueue; readonly work: (ms: number) => void } {
  let nowMs = 0;
  return {
    queue: new RunQueue(() => nowMs),
    work: (ms) => {
      nowMs += ms;
    },
  };
}

it('of many who work all the time, sockets and timers wait for about two slices, not for all of them', async () => {
  const { queue, work } = queueOfSteps();
  const accounts = Array.from({ length: 50 }, () => new CpuAccount());
  let slices = 0;
  let isOver = false;
  const workers = accounts.map(async (account) => {
    while (!isOver) {
      await queue.turn(account);
      work(4);
      slices++;
    }
  });
  const inTurns: number[] = [];
  for (let i = 0; i < 10; i++) {
    const before = slices;
    await new Promise((resolve) => setImmediate(resolve));
    inTurns.push(slices - before);
  }
  isOver = true;
  await Promise.all(workers);
  expect(Math.max(...inTurns)).toBeLessThanOrEqual(2);
});

it('of many long answers that are written at once, a turn of the loop has one slice: not one of each', async () => {
  const { queue, work } = queueOfSteps();
  const account = new CpuAccount();
  let slices = 0;
  let isOver = false;
  const workers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await queue.turn(account);
      work(1);
      slices++;
    }
  });
  const inTurns: number[] = [];
  for (let i = 0; i < 10; i++) {
    const before = slices;
    await new Promise((resolve) => setImmediate(resolve));
    inTurns.push(slices - before);
  }
  isOver = true;
  await Promise.all(workers);
  expect(Math.max(...inTurns)).toBe(1);
});

it('requests go before long work in the same name, and never keep it waiting for ever', async () => {
  const queue = new RunQueue();
  const account = new CpuAccount();
  const order: string[] = [];
  const work = Array.from({ length: 2 }, () => queue.turn(account).then(() => order.push('work')));
  const requests = Array.from({ length: 20 }, () => queue.requestTurn(account).then(() => order.push('request')));
  await Promise.all([...work, ...requests]);
  const eight = Array<string>(8).fill('request');
  expect(order).toEqual([...eight, 'work', ...eight, 'work', ...eight.slice(0, 4)]);
});

it('a flow with a hundred workers gets no more of the thread than one with a single worker', async () => {
  const { queue, work } = queueOfSteps();
  const [loud, quiet] = [new CpuAccount(), new CpuAccount()];
  let isOver = false;
  const worker = async (account: CpuAccount) => {
    while (!isOver) {
      await queue.turn(account);
      if (!isOver) work(1);
    }
  };
  const workers = [...Array.from({ length: 100 }, () => worker(loud)), worker(quiet)];
  while (loud.usedMs + quiet.usedMs < 100) await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  await Promise.all(workers);
  expect(Math.abs(loud.usedMs - quiet.usedMs)).toBeLessThanOrEqual(2);
});

it('whoever comes anew goes before those who have worked, and nobody who worked long waits for ever', async () => {
  const { queue, work } = queueOfSteps();
  const order: string[] = [];
  const loud = new CpuAccount();
  const first = queue.turn(loud).then(() => work(20));
  await first;
  const turns = [
    queue.turn(loud).then(() => order.push('loud')),
    queue.turn(new CpuAccount()).then(() => order.push('new')),
  ];
  await Promise.all(turns);
  expect(order).toEqual(['new', 'loud']);
});

it('who has used much waits until others have had as much, and not for ever where somebody new comes all the time', async () => {
  const { queue, work } = queueOfSteps();
  const heavy = new CpuAccount();
  await queue.turn(heavy);
  work(20);
  let served = 0;
  let isOver = false;
  const newcomers = Array.from({ length: 4 }, async () => {
    while (!isOver && served < 2000) {
      await queue.requestTurn(new CpuAccount());
      work(1);
      served++;
    }
  });
  await queue.requestTurn(heavy);
  const before = served;
  isOver = true;
  await Promise.all(newcomers);
  expect(before).toBeGreaterThan(40);
  expect(before).toBeLessThan(200);
});

it('what is short runs at once, until its flow is ahead of the others', async () => {
  const queue = new RunQueue();
  const account = new CpuAccount();
  let atOnce = 0;
  while (queue.mayRun(account)) atOnce++;
  expect(atOnce).toBeGreaterThan(5);
  expect(atOnce).toBeLessThan(100);
  expect(queue.mayRun(new CpuAccount())).toBe(true);
  await queue.turn(account);
  expect(queue.mayRun(account)).toBe(true); // nobody else wants the thread
});

it('an account is charged for what its work took up to its next wait, microtasks and all', async () => {
  const { queue, work } = queueOfSteps();
  const account = new CpuAccount();
  await queue.turn(account);
  work(3);
  await Promise.resolve();
  work(3);
  await queue.turn(account);
  expect(account.usedMs).toBe(6);
});

it('slices without a signal are somebody’s of their own; what throws leaves the queue working', async () => {
  const slices = new WorkSlices(AbortSignal.abort(new Error('gone')));
  await expect(slices.pause()).rejects.toThrow('gone');
  await new WorkSlices().pause();
});

it('many who wait in one name cost no more each than few', async () => {
  await expectLinear('turns of one account', {
    from: 10_000,
    limit: 80_000,
    make: (size) => size,
    run: async (size) => {
      const queue = new RunQueue();
      const account = new CpuAccount();
      await Promise.all(Array.from({ length: size }, () => queue.turn(account)));
    },
  });
});
