/**
 * Takes a connection out of the hands of Node's HTTP/1.1 for as long as a stream has it to itself, and gives it back.
 * Of a watch that waits, Node's parser, request and response are more than all the rest, and nobody needs them before
 * the next request.
 *
 * It does what Node does for its own upgrades. Always true: either everything of Node's is off the socket, or nothing
 * was touched: where this Node is not as expected, the stream goes on as any other answer does. So it is from Node 22 on,
 * whose parser does not tell whether a part of the next request has come. After `giveBack` the connection is as good as
 * new.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What Node hangs on every socket it reads requests from. */
const LISTENERS: readonly (readonly [event: string, name: string])[] = [
  ['data', 'bound socketOnData'],
  ['end', 'bound socketOnEnd'],
  ['close', 'bound socketOnClose'],
  ['drain', 'bound socketOnDrain'],
  ['error', 'socketOnError'],
  ['timeout', 'socketOnTimeout'],
];

type Parser = {
  remove(): void;
  close(): void;
  /** How long a request has been coming in; 0 between two of them. */
  duration(): number;
};

/** `onData` gets what the client sends from now on. False: not possible now, and nothing has changed. */
export function takeSocket(
  request: IncomingMessage,
  response: ServerResponse,
  onData: (bytes: Buffer) => void,
): boolean {
  const { socket } = request as { socket: Socket & { parser?: Parser | null } };
  const { parser } = socket;
  const isBetween = request.complete && request.readableEnded && parser?.duration?.() === 0;
  if (!isBetween || !parser?.close || !parser.remove) return false;
  if (!response.shouldKeepAlive || response.socket !== socket || socket.destroyed) return false;
  const found = LISTENERS.map(([event, name]) => socket.listeners(event).find((one) => one.name === name));
  if (found.some((listener) => !listener)) return false;
  socket.on('data', onData); // with a listener of ours on it, Node's parser leaves the reading to the socket
  LISTENERS.forEach(([event], i) => {
    socket.off(event, found[i] as () => void);
  });
  response.detachSocket(socket);
  socket.parser = null;
  parser.remove(); // from those whose requests must come in time
  parser.close();
  socket.on('error', ignore);
  socket.on('end', hangUp);
  return true;
}

/** For the next request. `ahead` came while the stream went on: it is read first. `server` is whose socket it is. */
export function giveBack(
  socket: Socket,
  server: EventEmitter,
  onData: (bytes: Buffer) => void,
  ahead: Buffer | undefined,
): void {
  socket.off('data', onData);
  socket.off('error', ignore);
  socket.off('end', hangUp);
  if (ahead) socket.unshift(ahead);
  else returned.set(socket, socket.bytesRead);
  server.emit('secureConnection', socket); // as documented: whoever emits it gives a server a connection
}

/** Whether it was given back and nothing has come since: Node takes it for a new one, and waits for a first request. */
export function isUnasked(socket: Duplex): boolean {
  return returned.get(socket) === (socket as Socket).bytesRead;
}

/** How many bytes had come by then. */
const returned = new WeakMap<Duplex, number>();

/** The client will ask for nothing more: so it is with any answer of Node's. */
function hangUp(this: Socket): void {
  this.end();
}

function ignore(): void {}
