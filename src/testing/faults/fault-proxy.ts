/**
 * A proxy before a server that misbehaves when told, so that a controller can be tested against all that networks and
 * servers do:
 *
 *     await using server = await startTestServer();
 *     await using proxy = await startFaultProxy(server);
 *     const config = await KubeConfig.load({ paths: [proxy.kubeconfigPath] });   // the controller under test uses this
 *     proxy.stall('watch');                                    // half-open: nothing comes, and nobody is told
 *     proxy.answer({ code: 503, to: 'list', times: 3 });
 *     proxy.sendError('watch', 410);
 *     proxy.heal();
 *
 * It ends TLS with the server's own certificate, so it sees requests and not only bytes; clients speak HTTP/1.1 and come
 * with tokens, since client certificates do not pass. Until it is told otherwise it changes nothing. Faults of open
 * requests return how many they struck; a test that expects one should look. `connectKube()` goes through it without a socket, as
 * `server.kube` does without it: then faults, too, happen in the order of a clock that is turned.
 */
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer as createPlainServer,
  type IncomingMessage,
  Agent as PlainAgent,
  type Server as PlainServer,
  type ServerResponse,
} from 'node:http';
import { Agent, createServer, type Server } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { closeOnce } from '../../api/index.ts';
import { KubeClient, type TransportOptions, tokenCredentials } from '../../client/index.ts';
import { makePair } from '../../server/http/connection/in-process.ts';
import { FaultExchange, type Line, type ProxiedRequest, type Way } from './fault-exchange.ts';

/** A TestServer is one. */
export type FaultTarget = {
  /** Asked for every request, since a server may come back on another port; throws while it is away. */
  readonly url: string;
  readonly dataDir: string;
  /** A connection to it within the process; throws while it is away. */
  readonly dial?: () => Duplex;
  /** The same connections, for which time stands still while something goes through them. */
  readonly watched?: (dial: () => Duplex) => () => Duplex;
};

/** Any server, with how to reach it and how it is reached by the proxy. */
export type ProxyTarget = {
  /** As of FaultTarget. */
  readonly url: string;
  readonly serving: { readonly cert: string; readonly key: string };
  readonly agent: Agent;
  /** Of the proxy itself. */
  readonly kubeconfig: (url: string) => string;
  readonly kubeconfigPath: (port: number) => string;
  /** A free one without it. */
  readonly port?: number;
  /** What a client within the process needs. */
  readonly inProcess?: {
    readonly token: string;
    readonly dial: () => Duplex;
    readonly watched: (dial: () => Duplex) => () => Duplex;
  };
};

/** Whom a fault strikes. */
export type Which = 'any' | ProxiedRequest['kind'] | ((request: ProxiedRequest) => boolean);

export type FaultAnswer = {
  readonly code: number;
  /** Requests to come, not open ones: any. */
  readonly to?: Which;
  /** 1 */
  readonly times?: number;
  readonly retryAfterSeconds?: number;
  /** In the place of a Status, such as the page of a load balancer. */
  readonly text?: string;
};

/** What becomes of one request; nothing of it, and it goes its way. */
export type Fate = {
  readonly cut?: boolean;
  readonly stall?: boolean;
  readonly garble?: boolean;
  readonly truncate?: boolean;
  readonly delayMs?: number;
  /** Of a list: the server's answer without objects, at version 1. */
  readonly empty?: boolean;
  readonly answer?: Omit<FaultAnswer, 'to' | 'times'>;
};
export type Decide = (request: ProxiedRequest) => Fate | undefined;

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
/** Older ones are forgotten. */
const REMEMBERED_REQUESTS = 10_000;

export class FaultProxy implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** That of the target's administrator, but through the proxy. It goes with the proxy. */
  readonly kubeconfigPath: string;
  readonly #listener: Server;
  readonly #target: ProxyTarget;
  readonly #agent: Agent;
  readonly #exchanges = new Set<FaultExchange>();
  /** By the port that the client has, since TLS sockets cannot be reset, those below them can; or as they are. */
  readonly #sockets = new Map<number | Duplex, Duplex>();
  readonly #stalled = new WeakSet<Duplex>();
  readonly #kubes: KubeClient[] = [];
  /** For connections within the process. */
  readonly #door: PlainServer;
  readonly #plainAgent: PlainAgent;
  readonly #answers: { readonly answer: FaultAnswer; left: number }[] = [];
  readonly #line: Line = { delayMs: 0, pieceBytes: 0, pieceMs: 0 };
  readonly #requests: ProxiedRequest[] = [];
  #decide: Decide | undefined;
  #count = 0;
  #refuses = false;
  /** What `await using` does. */
  readonly close: () => Promise<void> = closeOnce(() => this.#close());

  constructor(listener: Server, target: ProxyTarget) {
    this.#listener = listener;
    this.#target = target;
    this.#agent = target.agent;
    this.port = (listener.address() as AddressInfo).port;
    this.url = `https://127.0.0.1:${this.port}`;
    this.kubeconfigPath = target.kubeconfigPath(this.port);
    writeFileSync(this.kubeconfigPath, target.kubeconfig(this.url), { mode: 0o600 });
    listener.on('connection', (socket: Socket) => this.#onConnection(socket, socket.remotePort!));
    listener.on('secureConnection', (socket) => socket.on('error', () => {}));
    listener.on('request', (incoming, response) => this.#onRequest(incoming, response));
    this.#door = createPlainServer((incoming, response) => this.#onRequest(incoming, response));
    this.#plainAgent = new DiallingAgent(target.inProcess?.dial);
  }

  /**
   * The administrator of a test server, through the proxy and by connections within the process: for a clock that is turned,
   * which waits for what goes through them. It is closed with the proxy.
   */
  connectKube(options: TransportOptions = {}): KubeClient {
    const { inProcess } = this.#target;
    if (!inProcess) throw new Error('Cannot connect within the process: the server of this proxy is not in it');
    const dial = inProcess.watched(() => this.#dial());
    const server = new URL('http://localhost');
    const credentials = tokenCredentials(inProcess.token);
    const kube = new KubeClient({ server, namespace: 'default', dial, credentials }, options);
    this.#kubes.push(kube);
    return kube;
  }

  /** The requests so far, in order; the last ten thousand. */
  get requests(): readonly ProxiedRequest[] {
    return this.#requests;
  }

  /** How many connections of clients are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** The requests that are under way. */
  get open(): readonly ProxiedRequest[] {
    return [...this.#exchanges].map(({ request }) => request);
  }

  // ---- to what is open ----

  /** Resets connections; with `any`, those without a request too. */
  cut(which: Which = 'any'): number {
    const struck = this.#strike(which, (exchange) => exchange.cut());
    if (which === 'any') for (const socket of [...this.#sockets.values()]) this.#reset(socket);
    return struck;
  }

  /** Nothing gets through any more, and nobody is told. Not even `heal` brings such a connection back. */
  stall(which: Which = 'any'): number {
    if (which === 'any') for (const socket of this.#sockets.values()) this.#stalled.add(socket);
    return this.#strike(which, (exchange) => exchange.stall());
  }

  /** Ends answers as if they were whole: a watch that the server has ended. */
  end(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.end());
  }

  /** The next bytes come by half, and then a clean end. */
  truncate(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.truncate());
  }

  /** The next bytes come with something in them that is no JSON. */
  garble(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.garble());
  }

  /** Puts an ERROR event into watches, and ends them as servers do. */
  sendError(which: Which, code: number): number {
    const text = `${JSON.stringify({ type: 'ERROR', object: statusOf(code) })}\n`;
    return this.#strike(which, (exchange) => exchange.send(text, `ERROR ${code}`, true));
  }

  // ---- to what comes ----

  /** Asked for every request to come, before `answer`: what it returns is done to it. */
  plan(decide: Decide | undefined): void {
    this.#decide = decide;
  }

  /** Some of the requests to come do not reach the server. */
  answer(answer: FaultAnswer): void {
    this.#answers.push({ answer, left: answer.times ?? 1 });
  }

  /** New connections are reset while it is true. */
  refuse(refuses = true): void {
    this.#refuses = refuses;
  }

  /** Every request waits before it is sent on; with Infinity for ever. */
  delay(ms: number): void {
    this.#line.delayMs = ms;
  }

  /** Answers come in small pieces. */
  drip(bytes: number, everyMs = 0): void {
    this.#line.pieceBytes = bytes;
    this.#line.pieceMs = everyMs;
  }

  /** From now on nothing new is broken. */
  heal(): void {
    this.#answers.length = 0;
    this.#refuses = false;
    Object.assign(this.#line, { delayMs: 0, pieceBytes: 0, pieceMs: 0 });
    for (const exchange of this.#exchanges) exchange.heal();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const kube of this.#kubes.splice(0)) await kube.close();
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    for (const socket of [...this.#sockets.values()]) socket.destroy();
    this.#agent.destroy();
    await closed;
    rmSync(this.kubeconfigPath, { force: true });
  }

  #strike(which: Which, fault: (exchange: FaultExchange) => void): number {
    const struck = [...this.#exchanges].filter(({ request }) => fits(which, request));
    for (const exchange of struck) fault(exchange);
    return struck.length;
  }

  /** Gone for us from here on: one that is just shutting down refuses (EINVAL), and then Node never says that it is closed. */
  #reset(socket: Duplex): void {
    if (socket instanceof Socket) socket.resetAndDestroy();
    else socket.destroy();
    for (const [key, one] of this.#sockets) if (one === socket) this.#sockets.delete(key);
  }

  #dial(): Duplex {
    const [ours, theirs] = makePair();
    this.#onConnection(ours, ours);
    if (!ours.destroyed) this.#door.emit('connection', ours);
    return theirs;
  }

  #onConnection(socket: Duplex, key: number | Duplex): void {
    socket.on('error', () => {});
    if (this.#refuses) return void this.#reset(socket);
    if (socket instanceof Socket) socket.setNoDelay(true);
    this.#sockets.set(key, socket);
    socket.once('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }

  #onRequest(incoming: IncomingMessage, response: ServerResponse): void {
    const socket = this.#sockets.get(incoming.socket.remotePort ?? incoming.socket);
    if (!socket) return void response.destroy(); // it went at this very moment
    const exchange: FaultExchange = new FaultExchange(++this.#count, incoming, response, () => {
      this.#reset(socket);
      this.#exchanges.delete(exchange);
    });
    this.#requests.push(exchange.request);
    if (this.#requests.length > REMEMBERED_REQUESTS) this.#requests.shift();
    this.#exchanges.add(exchange);
    response.once('close', () => this.#exchanges.delete(exchange));
    if (this.#stalled.has(socket)) {
      exchange.stall();
      return;
    }
    const fate = this.#decide?.(exchange.request);
    if (fate?.cut) return void exchange.cut();
    if (fate?.stall) exchange.stall();
    if (fate?.garble) exchange.garble();
    if (fate?.truncate) exchange.truncate();
    if (fate?.empty) exchange.empty();
    if (fate?.answer) return void answerWith(exchange, fate.answer);
    const planned = this.#answers.find(({ answer, left }) => left > 0 && fits(answer.to ?? 'any', exchange.request));
    if (planned) {
      planned.left--;
      answerWith(exchange, planned.answer);
      return;
    }
    let way: Way;
    try {
      const { url } = this.#target; // throws while it is away
      const isWithin = !(socket instanceof Socket);
      way = isWithin ? { url: 'http://localhost', plainAgent: this.#plainAgent } : { url, agent: this.#agent };
    } catch {
      return void exchange.reset();
    }
    const line = fate?.delayMs === undefined ? this.#line : { ...this.#line, delayMs: fate.delayMs };
    void exchange.forward(way, line);
  }
}

/** The target must have been started once: its certificates and its kubeconfig are used. */
export function startFaultProxy(target: FaultTarget): Promise<FaultProxy> {
  const { dataDir } = target;
  const dial = target.dial?.bind(target);
  const watched = target.watched?.bind(target);
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8');
  return startProxyTo({
    get url() {
      return target.url;
    },
    serving: { cert: read('pki/server.crt'), key: read('pki/server.key') },
    agent: new Agent({ keepAlive: true, ca: read('pki/ca.crt') }),
    kubeconfig: (url) => read('admin.kubeconfig').replace(/server: \S+/, `server: ${url}`),
    kubeconfigPath: (port) => join(dataDir, `fault-proxy-${port}.kubeconfig`),
    ...(dial && watched && { inProcess: { token: read('admin.token').trim(), dial, watched } }),
  });
}

/** To a server in this process; a connection for each request, since those cannot be kept. */
class DiallingAgent extends PlainAgent {
  readonly #dial: (() => Duplex) | undefined;

  constructor(dial: (() => Duplex) | undefined) {
    super();
    this.#dial = dial;
  }

  override createConnection(): Duplex {
    return this.#dial!();
  }
}

export async function startProxyTo(target: ProxyTarget): Promise<FaultProxy> {
  const listener = createServer(target.serving);
  listener.on('tlsClientError', () => {}); // a client that went in the middle of its handshake
  listener.listen(target.port ?? 0, '127.0.0.1');
  await once(listener, 'listening');
  return new FaultProxy(listener, target);
}

function fits(which: Which, request: ProxiedRequest): boolean {
  if (typeof which === 'function') return which(request);
  return which === 'any' || which === request.kind;
}

function answerWith(exchange: FaultExchange, { code, retryAfterSeconds, text }: NonNullable<Fate['answer']>): void {
  const headers = {
    'content-type': text === undefined ? 'application/json' : 'text/html',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
  exchange.answer(code, headers, text ?? JSON.stringify(statusOf(code)));
}

function statusOf(code: number): object {
  const message = `a fault of the proxy: ${code}`;
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  return { ...head, message, reason: REASONS[code] ?? 'Unknown', code };
}
