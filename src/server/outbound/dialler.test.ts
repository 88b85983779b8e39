import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { callTarget } from './call-target.ts';
import { Dialler } from './dialler.ts';
import { networkErrorText } from './network-error.ts';

const signal = new AbortController().signal;
const nowhere = () => Promise.reject(new Error('no Service is asked for'));
const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** Takes connections, and does with them what is said. */
async function serverThat(takes: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    takes(socket);
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('whoever takes a connection and says nothing is given up, and left', async () => {
  let left: Promise<unknown> | undefined;
  const url = await serverThat((socket) => {
    left = once(socket.resume(), 'close');
  });
  const failed = await new Dialler(callTarget({ url }), nowhere, { connectMs: 20 }).open(signal).catch((err) => err);
  expect(networkErrorText(failed)).toBe('dial tcp: i/o timeout');
  await left;
});

it('whoever ends a connection before it is secure has not answered', async () => {
  const url = await serverThat((socket) => socket.end());
  const failed = await new Dialler(callTarget({ url }), nowhere).open(signal).catch((err) => err);
  expect(networkErrorText(failed)).toBe('EOF');
});

it('whoever is no longer wanted is not dialled', async () => {
  const stop = new AbortController();
  let isAsked = false;
  const url = await serverThat(() => {
    isAsked = true;
  });
  const { port } = new URL(url);
  const resolve = async () => {
    stop.abort(new Error('enough'));
    return { host: '127.0.0.1', port: Number(port) };
  };
  const target = callTarget({ service: { namespace: 'n', name: 's' } });
  await expect(new Dialler(target, resolve).open(stop.signal)).rejects.toThrow('enough');
  expect(isAsked).toBe(false);
});

it('only HTTPS is spoken', async () => {
  const dialler = new Dialler(callTarget({ url: 'http://127.0.0.1:1/' }), nowhere);
  await expect(dialler.open(signal)).rejects.toThrow('unsupported protocol scheme "http"');
});
