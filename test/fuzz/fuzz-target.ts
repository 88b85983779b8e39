/** Sends an input to the server that is under test and waits until that is over; says what status came, if one did. */
import { type ClientHttp2Session, connect } from 'node:http2';
import type { ServerTarget } from '../support/victim/server-target.ts';
import type { FuzzInput } from './fuzz-input.ts';

const QUIET_MS = 25;

export type Outcome = { readonly status: number; readonly text: string };

export class FuzzTarget {
  readonly #server: ServerTarget;
  #session: ClientHttp2Session | undefined;

  constructor(server: ServerTarget) {
    this.#server = server;
  }

  async send(input: FuzzInput): Promise<Outcome> {
    switch (input.kind) {
      case 'request':
        return this.#request(input);
      case 'http1':
        return this.#raw(Buffer.from(input.bytes, 'base64'), 'http/1.1');
      case 'http2':
        return this.#raw(Buffer.from(input.bytes, 'base64'), 'h2');
      case 'grpc':
        return this.#call(input.method, Buffer.from(input.bytes, 'base64'));
    }
  }

  close(): void {
    this.#session?.destroy();
  }

  async #request({ method, path, headers, body }: FuzzInput & { kind: 'request' }): Promise<Outcome> {
    try {
      const answer = await this.#server.ask({
        method,
        path,
        headers,
        ...(body !== undefined && { body: Buffer.from(body, 'base64'), type: headers['content-type'] ?? '' }),
        isStream: true, // more of them are than look like it
      });
      if (answer.status < 500) return { status: answer.status, text: '' };
      // What was wrong is in the body, which HEAD leaves out.
      const told =
        method === 'HEAD' ? await this.#server.ask({ method: 'GET', path, headers, isStream: true }) : answer;
      return { status: answer.status, text: told.body.toString('utf8').slice(0, 2_000) };
    } catch {
      return { status: -1, text: '' }; // nothing that this client would put on the wire
    }
  }

  async #raw(bytes: Buffer, protocol: string): Promise<Outcome> {
    const socket = await this.#server.rawSocket([protocol]);
    socket.setTimeout(QUIET_MS, () => socket.destroy());
    let text = '';
    socket.on('data', (part: Buffer) => {
      if (text.length < 2_000) text += part.toString('latin1');
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(bytes);
    await closed;
    const status = text.startsWith('HTTP/1.1 ') ? Number(text.slice(9, 12)) : 0;
    return { status, text: status >= 500 ? text : '' };
  }

  #call(method: string, bytes: Buffer): Promise<Outcome> {
    if (!this.#session || this.#session.destroyed || this.#session.closed) {
      this.#session = connect(this.#server.etcdUrl);
      this.#session.on('error', () => {}); // told by its close
    }
    const session = this.#session;
    return new Promise((resolve) => {
      const path = `/etcdserverpb.${method}`;
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.on('error', () => {}); // told by its close
      stream.setTimeout(QUIET_MS, () => stream.close());
      stream.once('close', () => resolve({ status: 0, text: '' }));
      stream.resume();
      stream.end(bytes);
    });
  }
}
