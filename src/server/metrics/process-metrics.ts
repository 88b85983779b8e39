/** What dashboards ask of every process, and how late its event loop runs. Read at the scrape; costs nothing between. */
import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

export function addProcessMetrics(metrics: Metrics): void {
  const cpu = metrics.counter('process_cpu_seconds_total', 'User and system CPU time spent, in seconds.');
  const resident = metrics.gauge('process_resident_memory_bytes', 'Resident memory size in bytes.');
  const started = metrics.gauge('process_start_time_seconds', 'Start time of the process since the epoch, in seconds.');
  const openFiles = metrics.gauge('process_open_fds', 'Number of open file descriptors.');
  const heap = metrics.gauge('nodejs_heap_size_used_bytes', 'Memory that JavaScript objects take, in bytes.');
  const external = metrics.gauge('nodejs_external_memory_bytes', 'Memory outside the JavaScript heap, in bytes.');
  const utilization = metrics.gauge(
    'nodejs_eventloop_utilization',
    'Share of time the event loop was busy, since the last scrape.',
  );
  started.set(Math.round((Date.now() - process.uptime() * 1000) / 1000));
  let cpuBefore = 0;
  let loopBefore = performance.eventLoopUtilization();
  metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const cpuNow = (user + system) / 1e6;
    cpu.labels().inc(Math.max(0, cpuNow - cpuBefore));
    cpuBefore = cpuNow;
    const memory = process.memoryUsage();
    resident.set(memory.rss);
    heap.set(memory.heapUsed);
    external.set(memory.external);
    const loopNow = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(loopNow, loopBefore).utilization);
    loopBefore = loopNow;
    try {
      openFiles.set(readdirSync('/proc/self/fd').length);
    } catch {
      // only Linux has it
    }
  });
}
