import { it } from 'vitest';
import { type AnyObject, configMaps, Informer } from '../../src/client/index.ts';
import { EventQueue } from '../../src/client/informer/event-queue.ts';
import { scriptedServer } from './client-scripted-server.ts';
it('bench', async () => {
  for (const freeze of [true, false]) {
  await using server = await scriptedServer();
  await using informer = new Informer({ transport: server.transport() }, configMaps, { freeze });
  let n = 0;
  await using _s = informer.subscribe(() => { n++; }, { limit: 10 });
  const { response } = await server.next();
  const N = 50_000;
  const obj = (i: number, rv: number) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `n${i}`, namespace: 'd', uid: `${i}`, resourceVersion: `${rv}`, labels: {a:'b',c:'d'} }, data: { v: 'x'.repeat(800) } });
  const begin = performance.now();
  let text = '';
  for (let i = 0; i < N; i++) text += `${JSON.stringify({ type: 'ADDED', object: obj(i, i + 1) })}\n`;
  text += `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${N}`, annotations: { 'k8s.io/initial-events-end': 'true' } } } })}\n`;
  const made = performance.now();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(text);
  await informer.synced();
  const synced = performance.now();
  text = '';
  for (let i = 0; i < N; i++) text += `${JSON.stringify({ type: 'MODIFIED', object: obj(i, N + i + 1) })}\n`;
  const b2 = performance.now();
  response.write(text);
  await informer.reached(`${2 * N}`);
  const e2 = performance.now();
  await _s.idle();
  console.log({ freeze, make: made - begin, sync: synced - made, events: e2 - b2, idle: performance.now() - e2, n, m: informer.metrics.handlers[0] });
  }
  const q = new EventQueue<AnyObject>(1e9);
  const t = performance.now();
  for (let i = 0; i < 200_000; i++) q.push({ type: 'added', key: `${i}`, object: {} as AnyObject, isInitial: true });
  while (q.shift());
  console.log('queue 200k', performance.now() - t);
}, 120_000);
