/**
 * What the HTTP server knows of each connection: who showed a certificate, which answers are still owed, whether it is idle.
 *
 * On HTTP/1.1 requests may be sent ahead of their answers, and Node hands them over as they come. Behind a watch they
 * wait here until it has ended, and the connection is not read meanwhile; a few that came in one piece with the first
 * wait too, and a client that sends more is cut off.
 *
 * Always true: a certificate is read once per connection, not once per request; every connection is known here until it
 * is closed, so that a server can be closed without leaving one behind.
 */
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { PeerCertificate } from '../../auth/authenticator.ts';
import { CpuAccount } from '../../event-loop/run-queue.ts';
import type { Http1Wire } from '../response/http1-wire.ts';
import type { WireListener } from '../response/wire.ts';

/** Of requests sent ahead behind a watch. */
const MAX_WAITING = 16;

/** What is known of one connection. One object for all of it: there may be many thousands, most of them idle. */
type Known = {
  certificate: Identity | 'unread';
  /** Undefined: nobody has been known yet. */
  account: CpuAccount | undefined;
  /** Answers that are owed over HTTP/1.1, in the order of their requests. */
  wires: Http1Wire[] | undefined;
  /** Requests behind a watch. */
  waiting: (() => void)[] | undefined;
};

type Identity = PeerCertificate | 'unverified' | undefined;

export class Connections {
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #broken = new WeakSet<object>();
  /** By socket, or by the HTTP/2 session on it. */
  readonly #known = new WeakMap<object, Known>();
  /** Of all who have not been known yet. */
  readonly #strangers = new CpuAccount();

  /** Every socket, also one that never gets through its handshake. */
  addSocket(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', this.#forget);
  }

  addSession(session: ServerHttp2Session, idleTimeoutMs: number): void {
    this.#sessions.add(session);
    let openStreams = 0;
    const onStreamClose = () => {
      openStreams--;
    };
    session.on('stream', (stream) => {
      openStreams++;
      stream.on('close', onStreamClose);
    });
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', ignore);
    // The session keeps some faults of its socket to itself, and has no socket any more once its streams have closed.
    session.socket.on('error', () => this.#broken.add(session));
    session.setTimeout(idleTimeoutMs, () => {
      if (openStreams === 0) session.close();
    });
  }

  /** Whether its connection ended by a fault. */
  isBroken(session: object): boolean {
    return this.#broken.has(session);
  }

  /** Calls `begin` now, or when the watch before it has ended. */
  inTurn(socket: Socket, begin: () => void): void {
    const known = this.#of(socket);
    if (!known.waiting && !known.wires?.some(({ isLong }) => isLong)) {
      begin();
      return;
    }
    known.waiting ??= [];
    if (known.waiting.push(begin) > MAX_WAITING) socket.destroy(new Error('too many requests wait behind a watch'));
    else socket.pause();
  }

  /** A response hears of its socket's end only while it is at the head of the queue; this tells the others. */
  addWire(socket: Socket, wire: Http1Wire): void {
    const known = this.#of(socket);
    if (known.wires) known.wires.push(wire);
    else {
      known.wires = [wire];
      socket.on('close', this.#closeWires);
    }
    wire.onClose(this.#owing);
  }

  /** Whether an answer is owed on this socket. */
  owesAnswer(socket: object): boolean {
    return (this.#known.get(socket)?.wires?.length ?? 0) > 0;
  }

  /** `owner` is the socket, or the HTTP/2 session on it. */
  certificateOf(owner: object, socket: () => TLSSocket): Identity {
    const known = this.#of(owner);
    if (known.certificate === 'unread') known.certificate = readCertificate(socket());
    return known.certificate;
  }

  /** Who is charged for what the next request on this connection takes before anybody knows whose it is: as for the last one. */
  accountOf(owner: object): CpuAccount {
    return this.#known.get(owner)?.account ?? this.#strangers;
  }

  setAccount(owner: object, account: CpuAccount): void {
    this.#of(owner).account = account;
  }

  /** Tells every HTTP/2 client to open no more streams here. */
  sayGoAway(): void {
    for (const session of this.#sessions) session.close();
  }

  destroyAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #of(connection: object): Known {
    let known = this.#known.get(connection);
    if (!known) {
      known = { certificate: 'unread', account: undefined, wires: undefined, waiting: undefined };
      this.#known.set(connection, known);
    }
    return known;
  }

  /** One for all of them, as the listeners below. */
  readonly #owing: WireListener = {
    wireClosed: (wire) => this.#removeWire((wire as Http1Wire).socket, wire as Http1Wire),
  };

  #removeWire(socket: Socket, wire: Http1Wire): void {
    const known = this.#known.get(socket);
    if (!known?.wires) return;
    const { wires, waiting } = known;
    wires.splice(wires.indexOf(wire), 1);
    if (!waiting) return;
    while (waiting.length > 0 && !socket.destroyed && !wires.some(({ isLong }) => isLong)) waiting.shift()!();
    if (waiting.length > 0) return;
    known.waiting = undefined;
    socket.resume();
  }

  // One listener for all sockets, each told by `this`: there may be many thousands of them, and most are idle.

  readonly #forget: (this: Socket) => void = ((sockets: Set<Socket>) =>
    function (this: Socket) {
      sockets.delete(this);
    })(this.#sockets);

  readonly #closeWires: (this: Socket) => void = ((all: WeakMap<object, Known>) =>
    function (this: Socket) {
      for (const wire of [...(all.get(this)?.wires ?? [])]) wire.closed();
    })(this.#known);
}

function readCertificate(socket: TLSSocket): Identity {
  const certificate = socket.getPeerCertificate?.();
  if (!certificate || Object.keys(certificate).length === 0) return undefined;
  if (!socket.authorized) return 'unverified';
  const { CN, O } = certificate.subject as { CN?: string | string[]; O?: string | string[] };
  return {
    commonName: asList(CN).at(-1) ?? '',
    organizations: asList(O),
    expiresAtMs: Date.parse(certificate.valid_to),
  };
}

function asList(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function ignore(): void {}
