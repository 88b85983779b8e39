/**
 * How a thread that serves comes to its end, told to or by an error that nobody caught: its sockets first, then itself.
 *
 * Node stops a thread by running no JavaScript any more, while what is native goes on until its turn is over: an HTTP/2
 * connection that then reads a head with its body finds nobody to give the body to, and aborts the whole process with all
 * threads. With the sockets gone there is nothing to read. A thread that runs out of memory, or hangs, is still stopped
 * by Node alone.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { THREAD_END } from './server-thread.ts';
import { type Answers, ThreadLine } from './thread-line.ts';

/** The line of a thread to the one that started it, which may end it there. */
export function lineOfThread(answers: Answers): ThreadLine {
  const port = parentPort!;
  const sockets = new Set<Socket>();
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const end = () => {
    for (const socket of sockets) socket.destroy();
    process.exit(1);
  };
  const line = new ThreadLine(port, { ...answers, [THREAD_END.end]: end });
  port.on('message', (message) => line.hear(message));
  process.on('uncaughtException', (err) => {
    line.tell(THREAD_END.died, err instanceof Error ? (err.stack ?? err.message) : String(err));
    setImmediate(end); // it may have been thrown while a connection is being read
  });
  return line;
}
