/**
 * Turns an API server into something that moves, until Ctrl-C: apply a Deployment with kubectl, see Pods appear.
 *
 *     npm start                                            an API server; then, in a second terminal:
 *     export KUBECONFIG=$PWD/.longwatch/admin.kubeconfig
 *     npx tsx examples/mini-control-plane/main.ts          and in a third, with the same export:
 *     kubectl create deployment web --image=example.com/web:1 --replicas=3
 *     kubectl get pods -w
 */
import { connect } from 'longwatch/client';
import { startControlPlane } from './control-plane.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

await using client = await connect();
await using plane = await startControlPlane(client, {
  signal: stop.signal,
  onError: (message) => console.error(message),
});
console.log(
  `ready: ${plane.nodeNames.length} pretend nodes at ${client.transport.access.server.host}; Ctrl-C stops it`,
);
await Promise.race([
  plane.ended,
  new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
]);
console.log('stopping; everything stays as it is until the next control plane');
