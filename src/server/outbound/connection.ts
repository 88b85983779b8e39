/**
 * One kept connection, and the exchange that is on it: a request written, an answer read.
 *
 * Always true: it is free, busy or gone, and once gone it stays so. It is used again only after an answer that was read to its
 * end, with nothing behind it, to a request that was written to its end. Whatever comes before a request ends it: nobody
 * asked. An exchange ends in one way: with an answer, with what broke it, or by being given up, of which it is not told.
 */
import type { TLSSocket } from 'node:tls';
import { AnswerReader } from './answer-reader.ts';

/** One request, and who is told of its answer: once at most. */
export class Exchange {
  readonly request: Buffer;
  readonly limitBytes: number;
  readonly done: (error: unknown, answer?: AnswerReader) => void;
  connection: Connection | undefined;
  /** Whether it may be sent once more. */
  mayRepeat: boolean;

  constructor(request: Buffer, limitBytes: number, mayRepeat: boolean, done: Exchange['done']) {
    this.request = request;
    this.limitBytes = limitBytes;
    this.mayRepeat = mayRepeat;
    this.done = done;
  }
}

export type ConnectionOwner = {
  readonly freed: (connection: Connection) => void;
  readonly gone: (connection: Connection) => void;
  /** It broke under an exchange before a byte of the answer had come, and had served others before. */
  readonly wasStale: (exchange: Exchange, error: unknown) => void;
};

export class Connection {
  /** By `performance.now()`; of one that is free. */
  idleUntil = 0;
  /** What the other side said last of how long it keeps it. */
  keptSeconds: number | undefined;
  readonly #socket: TLSSocket;
  readonly #owner: ConnectionOwner;
  #exchange: Exchange | undefined;
  #reader: AnswerReader | undefined;
  #isSent = false;
  #isAnswering = false;
  #hasServed = false;
  #isGone = false;

  constructor(socket: TLSSocket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => this.#end());
    socket.on('error', (err) => this.breakOff(err));
    socket.on('close', () => this.breakOff(endOfFile()));
  }

  /** Alone it is sent at once; beside others at the end of the turn, so that all who begin in it wake the other side once. */
  begin(exchange: Exchange, isAlone: boolean): void {
    exchange.connection = this;
    this.#exchange = exchange;
    this.#reader = new AnswerReader(exchange.limitBytes);
    this.#isAnswering = false;
    this.#isSent = false;
    if (isAlone) this.#send(exchange);
    else setImmediate(() => this.#send(exchange));
  }

  #send(exchange: Exchange): void {
    if (this.#isGone) return;
    this.#isSent = true;
    this.#socket.write(exchange.request);
  }

  /** Whatever exchange it has is not told. */
  drop(): void {
    this.#exchange = undefined;
    this.breakOff(undefined);
  }

  breakOff(error: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader = undefined;
    this.#owner.gone(this);
    if (!exchange) return;
    exchange.connection = undefined;
    if (this.#hasServed && !this.#isAnswering && exchange.mayRepeat) this.#owner.wasStale(exchange, error);
    else exchange.done(error);
  }

  /** Resolves when nothing is left of it. */
  closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) resolve();
      else this.#socket.once('close', () => resolve());
    });
  }

  #take(bytes: Buffer): void {
    const reader = this.#reader;
    if (!reader || !this.#isSent) {
      this.breakOff(endOfFile());
      return;
    }
    this.#isAnswering = true;
    let used = 0;
    try {
      used = reader.push(bytes);
    } catch (err) {
      this.breakOff(err);
    }
    if (reader.isDone) this.#finish(reader, used === bytes.length);
  }

  #end(): void {
    const reader = this.#reader;
    if (reader?.end()) this.#finish(reader, true);
    else this.breakOff(endOfFile());
  }

  #finish(reader: AnswerReader, isLast: boolean): void {
    const exchange = this.#exchange!;
    exchange.connection = undefined;
    this.#exchange = undefined;
    this.#reader = undefined;
    this.#hasServed = true;
    this.keptSeconds = reader.keptSeconds;
    if (!isLast || !reader.isKept) this.drop();
    else if (this.#isWritten) this.#owner.freed(this);
    else setImmediate(() => this.#freeIfWritten());
    exchange.done(undefined, reader);
  }

  get #isWritten(): boolean {
    return this.#socket.writableLength === 0;
  }

  /** Of what was written in an immediate Node tells in the next one, which is after answers that were there by then. */
  #freeIfWritten(): void {
    if (this.#isGone) return;
    if (this.#isWritten) this.#owner.freed(this);
    else this.drop();
  }
}

/** As Node says it of a connection that ended too early. */
function endOfFile(): Error {
  return Object.assign(new Error('the other side closed the connection'), { code: 'ECONNRESET' });
}
