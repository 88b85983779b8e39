/**
 * What the front knows of each connection: who showed a certificate, which answers are still owed, whether it is idle.
 *
 * Always true: a certificate is read once per connection, not once per request; every connection is known here until it
 * is closed, so that a server can be closed without leaving one behind.
 */
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { PeerCertificate } from '../auth/authenticator.ts';
import type { Http1Wire } from './http1-wire.ts';

type Identity = PeerCertificate | 'unverified' | undefined;

export class Connections {
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #identities = new WeakMap<object, { readonly certificate: Identity }>();
  readonly #wires = new WeakMap<Socket, readonly Http1Wire[]>();

  /** Every socket, also one that never gets through its handshake. */
  addSocket(socket: Socket): void {
    if (this.#sockets.has(socket)) return; // it comes again after a stream had it to itself
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
    session.setTimeout(idleTimeoutMs, () => {
      if (openStreams === 0) session.close();
    });
  }

  /** A response hears of its socket's end only while it is at the head of the queue; this tells the others. */
  addWire(socket: Socket, wire: Http1Wire): void {
    const wires = this.#wires.get(socket);
    this.#wires.set(socket, wires ? [...wires, wire] : [wire]);
    if (!wires) socket.on('close', this.#closeWires);
    wire.onClose(() => this.#removeWire(socket, wire));
  }

  /** Whether one answer at most is owed on this socket. */
  isAlone(socket: Socket): boolean {
    return (this.#wires.get(socket)?.length ?? 0) <= 1;
  }

  /** `owner` is the socket, or the HTTP/2 session on it. */
  certificateOf(owner: object, socket: () => TLSSocket): Identity {
    let identity = this.#identities.get(owner);
    if (!identity) {
      identity = { certificate: readCertificate(socket()) };
      this.#identities.set(owner, identity);
    }
    return identity.certificate;
  }

  /** Tells every HTTP/2 client to open no more streams here. */
  sayGoAway(): void {
    for (const session of this.#sessions) session.close();
  }

  destroyAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #removeWire(socket: Socket, wire: Http1Wire): void {
    const left = this.#wires.get(socket)?.filter((other) => other !== wire);
    if (left) this.#wires.set(socket, left);
  }

  // One listener for all sockets, each told by `this`: there may be many thousands of them, and most are idle.

  readonly #forget: (this: Socket) => void = ((sockets: Set<Socket>) =>
    function (this: Socket) {
      sockets.delete(this);
    })(this.#sockets);

  readonly #closeWires: (this: Socket) => void = ((wires: WeakMap<Socket, readonly Http1Wire[]>) =>
    function (this: Socket) {
      for (const wire of wires.get(this) ?? []) wire.closed();
    })(this.#wires);
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
