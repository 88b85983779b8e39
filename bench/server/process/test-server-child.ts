/**
 * What a test waits for, in a process of its own, as one line of JSON: the first server, the next ones, `reset()` after ten
 * objects, ten virtual hours of an informer. Argument: the built module of `longwatch/testing`, the built client beside it.
 */
import type * as Client from '../../../src/client/index.ts';
import type * as Testing from '../../../src/testing/index.ts';

export type TestServerTimes = {
  firstMs: number;
  nextMs: number[];
  resetMs: number[];
  hoursMs: number;
  hoursCpuMs: number;
  cpuMs: number[];
};

const [testingUrl = '', clientUrl = ''] = process.argv.slice(2);
const { startTestServer, VirtualClock } = (await import(testingUrl)) as typeof Testing;
const { corev1 } = (await import(clientUrl)) as typeof Client;
const NEXT = 5;

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const began = performance.now();
  const result = await work();
  return [result, performance.now() - began];
}

const times: TestServerTimes = { firstMs: 0, nextMs: [], resetMs: [], hoursMs: 0, hoursCpuMs: 0, cpuMs: [] };
for (let n = 0; n <= NEXT; n++) {
  const before = process.cpuUsage();
  const [server, ms] = await timed(() => startTestServer());
  const { user, system } = process.cpuUsage(before);
  times.cpuMs.push((user + system) / 1000);
  if (n === 0) times.firstMs = ms;
  else times.nextMs.push(ms);
  const configMaps = server.kube.resource(corev1.configMaps);
  for (let i = 0; i < 10; i++) await configMaps.create({ metadata: { name: `a${i}` } });
  times.resetMs.push((await timed(() => server.reset()))[1]);
  await server[Symbol.asyncDispose]();
}
{
  const clock = new VirtualClock();
  await using server = await startTestServer({ clock });
  await using informer = server.kube.informer(corev1.configMaps, { namespace: 'default' });
  await informer.synced();
  const before = process.cpuUsage();
  times.hoursMs = (await timed(() => clock.advance(36_000_000)))[1];
  const { user, system } = process.cpuUsage(before);
  times.hoursCpuMs = (user + system) / 1000;
}
process.stdout.write(`${JSON.stringify(times)}\n`, () => process.exit());
