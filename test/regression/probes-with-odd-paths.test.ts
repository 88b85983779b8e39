/** A probe is answered whatever path it names: nothing that is asked for ends the process. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { healthHandler } from '../../src/controller/index.ts';

const well = { isLive: true, isReady: true, informers: [], controllers: [], role: undefined, errors: [], problems: [] };

it.each(['//', '/\\', 'http://[', '//livez', '*'])('%s is not found', async (path) => {
  const server = createServer(healthHandler({ health: () => well })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 404 /);
  } finally {
    server.close();
  }
});
