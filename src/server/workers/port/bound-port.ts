/**
 * One port for several threads. The owner binds it, and listens until the workers do, each on a copy of the very same socket:
 * all of them take from one queue, whoever is free first. The owner keeps a copy of its own, on which nobody listens: a
 * connection that nobody has taken yet is lost with no worker, not even with the last one; it waits for the next.
 *
 * A copy of a file descriptor is what Node has no call for, and two threads with the same one would each close it for the
 * other, or close whatever has its number by then. So a worker gets its own from a helper: a process that is started with
 * the socket, sends it back over its channel, as often as it is wanted, where the kernel makes it a new descriptor, and is gone.
 */
import { spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import * as net from 'node:net';
import { getSystemErrorMap } from 'node:util';

/** What Node's own cluster module binds ports with: bound, not listening yet. A negative number is an error. */
type Handle = SocketHandle & { getsockname(out: { port?: number }): number };
type MakeHandle = (address: string, port: number, addressType: 4 | 6) => Handle | number;

/** What `server.listen` takes, with a descriptor of its own. */
export type SocketHandle = { readonly fd: number; close(): void };
export type BoundPort = { readonly handle: SocketHandle; readonly port: number };

export async function bindPort(host: string, port: number): Promise<BoundPort> {
  if (process.platform === 'win32')
    throw new Error('Cannot serve with workers: Windows has no sockets that threads share');
  const { address, family } = await lookup(host === '' ? '::' : host);
  const { _createServerHandle: make } = net as unknown as { _createServerHandle: MakeHandle };
  const handle = make(address, port, family === 6 ? 6 : 4);
  if (typeof handle === 'number') throw systemError(handle, address, port);
  const bound: { port?: number } = {};
  const failure = handle.getsockname(bound); // an address in use is told only here
  if (failure !== 0 || handle.fd < 0) {
    handle.close();
    throw systemError(failure, address, port);
  }
  return { handle, port: bound.port! };
}

function systemError(errno: number, address: string, port: number): NodeJS.ErrnoException {
  const [code = 'UNKNOWN', text = 'unknown error'] = getSystemErrorMap().get(errno) ?? [];
  const error: NodeJS.ErrnoException = new Error(`bind ${code} ${address}:${port}: ${text}`);
  return Object.assign(error, { code, errno, syscall: 'bind' });
}

const HELPER = `
const { TCP, constants } = process.binding('tcp_wrap');
const socket = new TCP(constants.SERVER);
const failure = socket.open(3);
if (failure !== 0) throw new Error('cannot open the socket: ' + failure);
process.on('message', () => {}); // until the other side hangs up
for (let left = Number(process.argv[1]); left > 0; left--) process.send('socket', socket);
`;

/** The same socket, under a descriptor of this thread's own. */
export async function copySocket(fd: number): Promise<SocketHandle> {
  const [copy] = (await copySockets(fd, 1)) as [SocketHandle];
  return copy;
}

/** The same socket so many times, each time under another descriptor. When the signal fires there are none. */
export function copySockets(fd: number, count: number, signal?: AbortSignal): Promise<SocketHandle[]> {
  return new Promise((resolve, reject) => {
    const helper = spawn(process.execPath, ['--no-deprecation', '-e', HELPER, String(count)], {
      stdio: ['ignore', 'ignore', 'pipe', fd, 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
      ...(signal && { signal }),
    });
    const copies: SocketHandle[] = [];
    let said = '';
    let failure: Error | undefined;
    let isOver = false;
    helper.stderr!.on('data', (text) => {
      said += text;
    });
    helper.on('message', (_message, socket) => {
      const copy = socket as unknown as SocketHandle;
      if (isOver) copy.close();
      else if (copies.push(copy) === count) helper.disconnect();
    });
    helper.on('error', (err) => {
      failure = err;
      if (helper.pid === undefined) reject(err);
    });
    helper.on('exit', (code) => {
      isOver = true;
      if (copies.length === count && !signal?.aborted) return resolve(copies);
      for (const copy of copies) copy.close();
      reject(failure ?? new Error(`Cannot share the port: the helper ended with ${code}: ${said}`));
    });
  });
}
