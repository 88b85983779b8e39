/**
 * The client as a hostile server sees it: the server is here, and says to each request what a case wants, byte by byte
 * if need be; the client is in another process and is measured.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Played, StallCase } from '../support/victim/stall-case.ts';
import { Victim } from '../support/victim/victim.ts';
import type { ClientOrder } from './client-process.ts';

/** Writes what it likes to the connection, head included, and says how much it wrote. */
export type Hostility = (socket: Socket, request: IncomingMessage) => Promise<number> | number;

export class ClientTarget implements AsyncDisposable {
  readonly #victim: Victim;
  readonly #server: Server;
  #answer: Hostility = () => 0;
  #sentBytes = 0;

  private constructor(victim: Victim) {
    this.#victim = victim;
    this.#server = createServer((request) => {
      const { socket } = request;
      socket.on('error', () => {}); // the client may leave whenever it likes
      void Promise.resolve(this.#answer(socket, request)).then((bytes) => {
        this.#sentBytes += bytes;
        socket.end();
      });
    });
  }

  static async start(victim: Victim): Promise<ClientTarget> {
    const target = new ClientTarget(victim);
    target.#server.listen(0, '127.0.0.1');
    await once(target.#server, 'listening');
    return target;
  }

  async play(kind: Exclude<ClientOrder['kind'], 'kubeconfig'>, answer: Hostility): Promise<Played> {
    this.#answer = answer;
    this.#sentBytes = 0;
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    await this.#victim.tell({ kind, url } satisfies ClientOrder);
    return { sentBytes: this.#sentBytes, statuses: [] };
  }

  async readConfig(text: string): Promise<Played> {
    await this.#victim.tell({ kind: 'kubeconfig', text } satisfies ClientOrder);
    return { sentBytes: text.length, statuses: [] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export function startClientVictim(): Promise<Victim> {
  return Victim.start({ script: new URL('client-process.ts', import.meta.url), args: [] });
}

export type ClientCase = StallCase<ClientTarget>;
