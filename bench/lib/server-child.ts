/** The server under test, in a process of its own: on the folder it is given, on a free port, with a flush per write. */
import { startServer } from '../../src/server/index.ts';
import { obey, type Ready } from './server-control.ts';

const server = await startServer({ dataDir: process.argv[2]!, securePort: 0 });
obey(async ({ kind }) => {
  if (kind !== 'stop') throw new Error(`Cannot obey: there is no order ${JSON.stringify(kind)}`);
  await server.close();
  process.disconnect();
});
process.send!({ port: Number(new URL(server.url).port) } satisfies Ready);
