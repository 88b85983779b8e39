/**
 * Ports for servers that will be stopped and started again on them. They lie below those that the system gives to outgoing
 * connections: one of those could otherwise sit on the port while its server is away.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const LOWEST = 10_000;
const ABOVE = 32_768;

/** All at once, so that no two of them are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenSomewhere));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function listenSomewhere(): Promise<Server> {
  for (;;) {
    const server = createServer();
    try {
      server.listen(randomInt(LOWEST, ABOVE), '127.0.0.1');
      await once(server, 'listening');
      return server;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw err;
    }
  }
}
