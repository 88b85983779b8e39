/** Clients under test ask for odd paths, too: the proxy sends them on as they are, and says what kind of request it was. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { startFaultProxy, startTestServer } from '../../src/testing/index.ts';

it.each(['//', '//api/v1/pods', '/\\'])('%s', async (path) => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  const ca = readFileSync(join(server.dataDir, 'pki', 'ca.crt'));
  const socket = connect({ host: '127.0.0.1', port: proxy.port, ca });
  await once(socket, 'secureConnect');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(proxy.requests.map(({ path: seen, kind }) => `${kind} ${seen}`)).toEqual([`read ${path.replace('\\', '/')}`]);
});
