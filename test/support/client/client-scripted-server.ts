/**
 * A plain HTTP server that answers as a test tells it, request by request. `next` waits for a request and hands it over,
 * so that a test goes on when something has happened and not after some time. Which cluster it is, it does not say, unless
 * it is given a uid: such questions are answered aside, and no test has to expect them.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transport } from '../../../src/client/advanced.ts';
import type { TransportOptions } from '../../../src/client/index.ts';

export type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly body: string };

export type ScriptedServer = AsyncDisposable & {
  readonly url: URL;
  /** How many connections were opened so far, and how many are open. */
  readonly connections: { opened: number; open: number };
  clusterUid: string | undefined;
  /** false: questions about the cluster come by `next` as well. */
  answersAside: boolean;
  next(): Promise<Exchange>;
  transport(options?: TransportOptions): Transport;
};

export async function scriptedServer(): Promise<ScriptedServer> {
  const waiting: ((exchange: Exchange) => void)[] = [];
  const arrived: Exchange[] = [];
  const connections = { opened: 0, open: 0 };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const exchange = { request, response, body };
    if (scripted.answersAside && request.url === '/api/v1/namespaces/kube-system') {
      if (scripted.clusterUid === undefined) answer(exchange, 403, { kind: 'Status', code: 403, reason: 'Forbidden' });
      else answer(exchange, 200, { metadata: { uid: scripted.clusterUid } });
      return;
    }
    const taker = waiting.shift();
    if (taker) taker(exchange);
    else arrived.push(exchange);
  });
  server.on('connection', (socket) => {
    connections.opened++;
    connections.open++;
    socket.once('close', () => connections.open--);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const transports: Transport[] = [];
  const scripted: ScriptedServer = {
    url,
    connections,
    clusterUid: undefined,
    answersAside: true,
    next: () => {
      const exchange = arrived.shift();
      return exchange ? Promise.resolve(exchange) : new Promise((resolve) => waiting.push(resolve));
    },
    transport: (options) => {
      const transport = new Transport({ server: url, namespace: 'default' }, options);
      transports.push(transport);
      return transport;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(transports.map((transport) => transport.close()));
      server.closeAllConnections();
      server.close();
    },
  };
  return scripted;
}

export function answer(
  { response }: Exchange,
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const isText = typeof body === 'string';
  response.writeHead(code, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
