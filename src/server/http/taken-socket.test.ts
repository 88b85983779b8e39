import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { takeSocket } from './taken-socket.ts';

/** Newer ones do not tell whether a part of the next request has come. */
const isNode20 = process.versions.node.startsWith('20.');

it.skipIf(isNode20)('takeSocket() touches nothing where this Node is not as expected', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const ended = once(request, 'end');
  request.resume();
  await ended;
  expect(takeSocket(request, response, () => {})).toBe(false);
  response.end('answered');
  const [answer] = await once(client, 'data');
  expect(String(answer)).toMatch(/answered/);
  client.destroy();
  server.close();
});

it.runIf(isNode20)('takeSocket() leaves nothing of Node’s HTTP on the socket, once the request is whole', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const { socket } = request;
  const got: Buffer[] = [];
  const onData = (bytes: Buffer) => void got.push(bytes);
  const names = () => socket.eventNames().flatMap((event) => socket.listeners(event).map(({ name }) => name));
  response.flushHeaders();
  expect(takeSocket(request, response, onData)).toBe(false);
  expect(names()).toContain('bound socketOnData');
  const ended = once(request, 'end');
  request.resume();
  await ended;
  expect(takeSocket(request, response, onData)).toBe(true);
  expect(names().filter((name) => /socketOn|ServerResponse|onSocket(Pause|Resume)/.test(name))).toEqual([]);
  expect(socket).toMatchObject({ parser: null, _httpMessage: null });
  client.write('more');
  await once(socket, 'data');
  expect(Buffer.concat(got).toString()).toBe('more');
  const gone = once(socket, 'close');
  client.end(); // who says no more is hung up on
  await gone;
  server.close();
});
