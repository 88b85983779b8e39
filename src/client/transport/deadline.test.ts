import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { Deadline } from './deadline.ts';

it('a limit that passes cuts with its phase, one that was lifted does not', async () => {
  const clock = new FakeClock();
  const deadline = new Deadline(clock, 'GET /');
  deadline.limit('headers', 100)();
  deadline.limit('total', 300);
  await clock.advance(299);
  expect(deadline.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(deadline.errorOf(new Error('socket'), 'body')).toMatchObject({ phase: 'total', isTimeout: true });
  expect(deadline.signal.reason.message).toBe('Cannot finish GET /: no end within 300 ms');
});

it('idle time counts only while something is waited for', async () => {
  const clock = new FakeClock();
  const deadline = new Deadline(clock, 'GET /');
  deadline.limitIdle(100);
  await clock.advance(1000); // nobody asks
  deadline.waiting();
  await clock.advance(99);
  deadline.arrived();
  deadline.waiting();
  await clock.advance(99);
  expect(deadline.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(deadline.signal.reason).toMatchObject({ phase: 'idle', isTimeout: true });
});

it("the caller's reason is passed on, and nothing is left behind", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const deadline = new Deadline(clock, 'GET /', stop.signal);
  deadline.limit('total', 100);
  deadline.limitIdle(100);
  const reason = new Error('mine');
  stop.abort(reason);
  expect(deadline.errorOf(new Error('socket'), 'headers')).toBe(reason);
  deadline[Symbol.dispose]();
  await clock.advance(0);
  expect(clock.sleeping).toBe(0);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

it('many requests on one signal are no leak', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  const { signal } = new AbortController();
  const deadlines = Array.from({ length: 30 }, () => new Deadline(new FakeClock(), 'GET /', signal));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  for (const deadline of deadlines) deadline[Symbol.dispose]();
  expect(warnings).toEqual([]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('the first cut counts', () => {
  const deadline = new Deadline(new FakeClock(), 'GET /', AbortSignal.abort('before'));
  deadline.cut('after');
  expect(deadline.signal.reason).toBe('before');
});

it('a cut ends every limit by itself, for those who leave their stream alone, and none begins after it', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const deadline = new Deadline(clock, 'GET /', signal);
  deadline.limit('total', 100);
  deadline.limitIdle(100);
  deadline.cut(new Error('mine'));
  deadline.limit('headers', 100);
  deadline.limitIdle(100);
  await clock.advance(0);
  expect(clock.sleeping).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(deadline.signal.reason).toEqual(new Error('mine'));
});
