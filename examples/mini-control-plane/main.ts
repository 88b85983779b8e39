/**
 * Turns an API server into something that moves, until Ctrl-C: apply a Deployment with kubectl, see Pods appear.
 *
 *     npm start -- serve --controllers=-*                  an API server that does nothing by itself; in a second terminal:
 *     export KUBECONFIG=$PWD/.longwatch/admin.kubeconfig
 *     npx tsx examples/mini-control-plane/main.ts          and in a third, with the same export:
 *     kubectl create deployment web --image=example.com/web:1 --replicas=3
 *     kubectl get pods -w
 *
 * The same without a line of code: `longwatch serve --controllers=* --pretend-nodes=3`.
 */
import { connect } from 'longwatch/client';
import { startControllers } from 'longwatch/controllers';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

await using client = await connect();
await using plane = startControllers(client, { controllers: ['*'], pretendNodes: 3, onError: console.error });
await plane.ready(stop.signal);
console.log(`ready: 3 pretend nodes at ${client.transport.access.server.host}; Ctrl-C stops it`);
await Promise.race([
  plane.ended,
  new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
]);
console.log('stopping; everything stays as it is until the next control plane');
