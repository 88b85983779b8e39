/**
 * The server under test, in a process of its own: on the folder it is given, on a free port, with a flush per write. In
 * the place of the folder there may be options as JSON.
 */
import { type ServerOptions, startServer } from '../../../src/server/index.ts';
import { obey, type Ready } from '../server-control.ts';

const told = process.argv[2]!;
const options = told.startsWith('{') ? (JSON.parse(told) as ServerOptions) : { dataDir: told };
const server = await startServer({ securePort: 0, introspection: true, ...options });
await server.joined;
obey(async ({ kind }) => {
  if (kind !== 'stop') throw new Error(`Cannot obey: there is no order ${JSON.stringify(kind)}`);
  await server.close();
  process.disconnect();
});
process.send!({ port: Number(new URL(server.url).port) } satisfies Ready);
