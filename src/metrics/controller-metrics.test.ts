/** Real queues, workers and electors under a clock that is turned by hand, and what a scrape says of them. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { WorkerPool, WorkQueue } from '../controller/advanced.ts';
import { TerminalError } from '../controller/index.ts';
import { FakeClock } from '../testing/clocks/fake-clock.ts';
import { type ObservedController, type ObservedManager, observe } from './index.ts';

async function scrape(registry: Registry): Promise<Record<string, number>> {
  const entries = (await registry.metrics()).split('\n').flatMap((line) => {
    const [, name, value] = /^([^#\s].*) (\S+)$/.exec(line) ?? [];
    return name ? [[name, Number(value)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** A run of a controller, as a manager has it: its handler takes 2 s, and does with a key what the key says. */
function run(clock: FakeClock) {
  const queue = new WorkQueue<string>({ clock });
  const handler = async (key: string) => {
    await clock.sleep(2000);
    if (key.startsWith('bad')) throw new Error(key);
    if (key.startsWith('end')) throw new TerminalError(key);
    return key.startsWith('again') ? { requeueAfterMs: 60_000 } : undefined;
  };
  const pool = new WorkerPool({ queue, handler, clock, workers: 1, graceMs: 0, abortGraceMs: 0 });
  const dispose = async () => {
    const stopped = pool.stop();
    await clock.advance(100_000);
    await stopped;
  };
  return { queue, pool, [Symbol.asyncDispose]: dispose };
}

it('a queue and its workers have the names that dashboards know', async () => {
  const clock = new FakeClock();
  const registry = new Registry();
  await using work = run(clock);
  using _metrics = observe(registry, { queues: [{ name: 'web', ...work }], cluster: 'east' });
  for (const key of ['good', 'again', 'end', 'last', 'waits']) work.queue.add(key);
  await clock.advance(7000); // three are done, one is half done, one waits
  const series = await scrape(registry);
  const q = 'name="web",controller="web",cluster="east"';
  const c = 'controller="web",cluster="east"';
  const result = (name: string) =>
    series[`controller_runtime_reconcile_total{controller="web",result="${name}",cluster="east"}`];
  expect(series[`workqueue_depth{${q}}`]).toBe(1);
  expect(series[`workqueue_adds_total{${q}}`]).toBe(5);
  expect(series[`workqueue_retries_total{${q}}`]).toBe(1);
  expect(series[`workqueue_queue_duration_seconds_count{${q}}`]).toBe(4);
  expect(series[`workqueue_queue_duration_seconds_sum{${q}}`]).toBe(2 + 4 + 6);
  expect(series[`workqueue_work_duration_seconds_bucket{${q},le="1"}`]).toBe(0);
  expect(series[`workqueue_work_duration_seconds_bucket{${q},le="10"}`]).toBe(3);
  expect(series[`workqueue_unfinished_work_seconds{${q}}`]).toBe(1);
  expect(series[`workqueue_longest_running_processor_seconds{${q}}`]).toBe(1);
  expect(['success', 'requeue_after', 'error', 'stopped', 'abandoned'].map(result)).toEqual([1, 1, 1, 0, 0]);
  expect(series[`controller_runtime_reconcile_errors_total{${c}}`]).toBe(1);
  expect(series[`controller_runtime_terminal_reconcile_errors_total{${c}}`]).toBe(1);
  expect(series[`controller_runtime_reconcile_timeouts_total{${c}}`]).toBe(0);
  expect(series[`controller_runtime_reconcile_time_seconds_bucket{${c},le="1.75"}`]).toBe(0);
  expect(series[`controller_runtime_reconcile_time_seconds_bucket{${c},le="2"}`]).toBe(3);
  expect(series[`controller_runtime_reconcile_time_seconds_sum{${c}}`]).toBe(6);
  expect(series[`controller_runtime_active_workers{${c}}`]).toBe(1);
  expect(series[`controller_runtime_max_concurrent_reconciles{${c}}`]).toBe(1);
});

it('counters go on through runs and past the end of a controller, and begin at 0', async () => {
  const clock = new FakeClock();
  const registry = new Registry();
  const controller: { -readonly [K in keyof ObservedController]: ObservedController[K] } = {
    name: 'web',
    currentRun: undefined,
    metrics: () => ({ queue: first.queue.metrics(), pool: first.pool.metrics() }),
  };
  const controllers = [controller];
  let isLeading = false;
  const manager: ObservedManager = { controllers, elector: { name: 'lease', isLeading: () => isLeading } };
  await using first = run(clock);
  await using second = run(clock);
  using _metrics = observe(registry, { manager });
  const total = async () => {
    const series = await scrape(registry);
    return [
      series['workqueue_adds_total{name="web",controller="web"}'],
      series['controller_runtime_reconcile_total{controller="web",result="success"}'],
      series['controller_runtime_reconcile_time_seconds_count{controller="web"}'],
      series['leader_election_master_status{name="lease"}'],
      series['workqueue_depth{name="web",controller="web"}'],
    ];
  };
  expect(await total()).toEqual([0, 0, 0, 0, 0]);
  isLeading = true;
  controller.currentRun = first;
  for (const key of ['a', 'b', 'c']) first.queue.add(key);
  await clock.advance(2000);
  expect(await total()).toEqual([3, 1, 1, 1, 1]);
  await clock.advance(2000); // nobody looks before the run is over
  controller.currentRun = second;
  for (const key of ['a', 'b', 'c', 'd']) second.queue.add(key);
  expect(await total()).toEqual([7, 2, 2, 1, 3]);
  await clock.advance(2000);
  controllers.pop(); // it is removed, and its gauges with it
  expect(await total()).toEqual([7, 3, 3, 1, undefined]);
  expect(() => observe(registry, { manager })).toThrow('Cannot observe the manager: the registry has it already');
});
