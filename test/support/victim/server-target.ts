/**
 * The server as an attacker sees it: requests with any header and any body, over connections that are kept, and raw
 * bytes over TLS. A server that hangs up before it has read all is an answer, too: status 0.
 */
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { dirname } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { credentialsOf } from '../../../src/testing/index.ts';
import type { Played, StallCase } from './stall-case.ts';
import { type Ready, Victim } from './victim.ts';

export type ServerReady = Ready & { readonly etcdUrl: string; readonly kubeconfigPath: string };

/** `weak` is known and may do nothing; `nobody` shows no credential. */
export type Asker = 'admin' | 'weak' | 'nobody';

export type StallRequest = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly type?: string;
  readonly body?: string | Buffer | object;
  readonly as?: Asker;
  /** A stream: left when nothing has come for a moment. */
  readonly isStream?: boolean;
};

export type Answer = { readonly status: number; readonly body: Buffer };

const LEAVE_AFTER_MS = 40;
const WEAK_TOKEN = 'weak-token';

export class ServerTarget {
  readonly url: string;
  readonly etcdUrl: string;
  readonly ca: string;
  readonly token: string;
  readonly #agent: Agent;

  constructor({ url, etcdUrl, kubeconfigPath }: ServerReady) {
    this.url = url;
    this.etcdUrl = etcdUrl;
    const { ca, token } = credentialsOf(dirname(kubeconfigPath), kubeconfigPath);
    this.ca = ca;
    this.token = token;
    this.#agent = new Agent({ keepAlive: true, ca, maxSockets: 64 });
  }

  authorization(asker: Asker = 'admin'): Record<string, string> {
    if (asker === 'nobody') return {};
    return { authorization: `Bearer ${asker === 'admin' ? this.token : WEAK_TOKEN}` };
  }

  ask({ method = 'GET', path, headers = {}, type, body, as, isStream }: StallRequest): Promise<Answer> {
    const bytes = bytesOf(body);
    const all = {
      ...this.authorization(as),
      ...(bytes && { 'content-type': type ?? 'application/json', 'content-length': String(bytes.length) }),
      ...headers,
    } as Record<string, string>;
    return new Promise((resolve) => {
      const options = { method, path, headers: all, agent: this.#agent, maxHeaderSize: 8 * 1024 * 1024 };
      const sent = request(new URL(this.url), options, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        const done = () => {
          clearTimeout(leaving);
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) });
        };
        const leaving = isStream ? setTimeout(() => response.destroy(), LEAVE_AFTER_MS) : undefined;
        response.on('data', () => leaving?.refresh());
        response.once('close', done);
        response.once('end', done);
        response.once('error', done);
      });
      sent.once('error', () => resolve({ status: 0, body: Buffer.alloc(0) }));
      sent.end(bytes);
    });
  }

  /** As `ask`, but a refusal fails: for what has to be there before a case is played. */
  async must(asked: StallRequest): Promise<Answer> {
    const answer = await this.ask(asked);
    if (answer.status < 200 || answer.status >= 300)
      throw new Error(
        `Cannot prepare ${asked.method ?? 'GET'} ${asked.path.slice(0, 200)}: ${answer.status} ${answer.body}`,
      );
    return answer;
  }

  async play(...requests: readonly StallRequest[]): Promise<Played> {
    let sentBytes = 0;
    const statuses: number[] = [];
    for (const one of requests) {
      const { status } = await this.ask(one);
      statuses.push(status);
      sentBytes += sizeOf(one);
    }
    return { sentBytes, statuses };
  }

  session(): ClientHttp2Session {
    const session = connectHttp2(this.url, { ca: this.ca });
    session.on('error', () => {}); // told by its close
    return session;
  }

  async rawSocket(protocols: readonly string[] = ['http/1.1']): Promise<TLSSocket> {
    const { hostname, port } = new URL(this.url);
    const socket = connectTls({ host: hostname, port: Number(port), ca: this.ca, ALPNProtocols: [...protocols] });
    socket.on('error', () => {}); // told by its close
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('close', () => reject(new Error('Cannot connect: the server hung up')));
    });
    return socket;
  }
}

/** A case that is one request, or several one after the other. */
export function requestCase(
  name: string,
  covers: readonly string[],
  limit: number,
  make: (size: number, name: string) => StallRequest | readonly StallRequest[],
  more: Pick<StallCase<ServerTarget>, 'before' | 'after'> = {},
): StallCase<ServerTarget> {
  return {
    name,
    covers,
    limit,
    play: (target, size, label) => target.play(...[make(size, label)].flat()),
    ...more,
  };
}

export function startServerVictim(dataDir: string): Promise<Victim<ServerReady>> {
  return Victim.start<ServerReady>({
    script: new URL('server-process.ts', import.meta.url),
    args: [dataDir],
    authority: (ready) => credentialsOf(dataDir, (ready as ServerReady).kubeconfigPath).ca,
  });
}

function bytesOf(body: StallRequest['body']): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function sizeOf({ path, headers = {}, body }: StallRequest): number {
  const values = Object.values(headers).flat() as string[];
  return path.length + values.reduce((sum, value) => sum + value.length, 0) + (bytesOf(body)?.length ?? 0);
}
