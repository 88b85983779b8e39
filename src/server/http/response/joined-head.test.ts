import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { endJoined, HEAD_ROOM, joinHeads } from './joined-head.ts';

const BODY = 'the body that was asked for\n';

/** All bytes that come for these requests, sent at once, and what the answers were lent. */
async function answersTo(requests: string, joins: boolean, note = 'x'): Promise<{ text: string; lent: Buffer[] }> {
  const lent: Buffer[] = [];
  const server = createServer((request, response) => {
    const buffer = Buffer.alloc(HEAD_ROOM + 100, '.');
    lent.push(buffer);
    const body = buffer.subarray(HEAD_ROOM, HEAD_ROOM + buffer.write(BODY + request.url, HEAD_ROOM));
    response.writeHead(200, { Date: 'today', 'X-Note': note, 'Content-Length': body.length });
    endJoined(response, body, buffer);
  });
  if (joins) server.on('connection', joinHeads);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(requests);
  let text = '';
  for await (const part of socket.setEncoding('latin1')) text += part;
  server.close();
  return { text, lent };
}

const request = (path: string, more = '', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const LAST = 'Connection: close\r\n';

it('puts the head before the body, into what was lent', async () => {
  const { text, lent } = await answersTo(request('/one', LAST), true);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  const before = lent[0]!.subarray(0, HEAD_ROOM).toString('latin1').replace(/^\.*/, '');
  expect(text).toBe(`${before}${BODY}/one`);
});

it.each([
  ['one request', request('/one', LAST)],
  ['requests that are sent ahead', `${request('/one')}${request('/two')}${request('/three', LAST)}`],
  ['a question for the head', `${request('/one', '', 'HEAD')}${request('/two', LAST)}`],
  ['a client of HTTP/1.0', 'GET /one HTTP/1.0\r\n\r\n'],
])('sends what Node sends: %s', async (_what, requests) => {
  const { text } = await answersTo(requests, true);
  expect(text).toBe((await answersTo(requests, false)).text);
});

it('leaves a head that is too long to Node', async () => {
  const note = 'x'.repeat(HEAD_ROOM);
  const { text, lent } = await answersTo(request('/one', LAST), true, note);
  expect(text).toContain(`X-Note: ${note}\r\n`);
  expect(text.endsWith(`${BODY}/one`)).toBe(true);
  expect(lent[0]!.subarray(0, HEAD_ROOM).toString('latin1')).toBe('.'.repeat(HEAD_ROOM));
});
