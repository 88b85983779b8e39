/**
 * A small operator as people write one, with nothing said about logging: `operator-process.ts <kubeconfig> <how>`.
 * `how` is what its reconcile does: `throws`, `hangs` or `exits`, which hangs with `onStuck: 'exit'`; or `no-kind`. Its probes
 * are on the port that it prints on stdout.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, defineResource, type Resource } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { defineController, healthHandler, Manager } from '../../../src/controller/index.ts';

const [kubeconfig, how] = process.argv.slice(2);
const widgets = defineResource({
  group: 'ex.io',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  isNamespaced: true,
});

await using client = await connect({ paths: [kubeconfig!] });
const manager = new Manager({
  client,
  election: { name: 'operator', identity: 'me' },
  health: { stuckAfterMs: 1_500 },
  ...(how === 'exits' && { onStuck: 'exit' }),
});
manager.add(
  defineController({
    name: 'widgets',
    for: { resource: (how === 'no-kind' ? widgets : configMaps) as Resource, namespace: 'default' },
    async reconcile(_object, { key }) {
      if (how === 'throws') throw new Error(`boom at ${key}`);
      if (how === 'hangs' || how === 'exits') await new Promise(() => {});
    },
  }),
);
const probes = createServer(healthHandler(manager)).listen(0, '127.0.0.1', () => {
  process.stdout.write(`probes ${(probes.address() as AddressInfo).port}\n`);
});
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await manager.run(stop.signal);
probes.close();
