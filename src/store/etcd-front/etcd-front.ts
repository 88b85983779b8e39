/**
 * A store, served as an etcd: whoever speaks etcd's v3 API over gRPC (etcdctl, a kube-apiserver, a store of ours) can
 * use it.
 *
 * Always true: it adds nothing to the store and keeps nothing of its own but open calls; whatever else uses the store
 * sees what comes in here, and the other way round. Whoever is let in may do everything: so without TLS it listens on
 * loopback only, and with TLS a client must show a certificate that the authorities have signed and `mayUse` accepts.
 * Closing ends watches, lets other calls finish for a moment, and leaves no socket open.
 */
import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import { closeOnce } from '../../api/index.ts';
import { StoreError } from '../errors.ts';
import { grpcCode } from '../etcd/grpc/grpc-status.ts';
import type { Store } from '../kv.ts';
import { GrpcStream } from './grpc-stream.ts';
import { MemoryBudget } from './memory-budget.ts';
import { FrontError, toFrontError } from './messages/front-error.ts';
import { LongMessage } from './messages/long-message.ts';
import { kvService } from './services/kv-service.ts';
import { leaseService, serveKeepAlive } from './services/lease-service.ts';
import { maintenanceService } from './services/maintenance-service.ts';
import { SnapshotService } from './services/snapshot-service.ts';
import { serveWatches } from './services/watch-service.ts';

type EtcdFrontCertificates = {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** Who may vouch for a client. */
  readonly clientAuthorities: readonly string[];
};

export type EtcdFrontTls = EtcdFrontCertificates & {
  /** Whether a client that was vouched for may do everything, by the organisations of its certificate. */
  readonly mayUse: (organisations: readonly string[]) => boolean;
};

export type EtcdFrontOptions = {
  /** `http://127.0.0.1:2379` or `https://host:port`; port 0 picks a free one. */
  readonly urls: readonly string[];
  readonly tls?: EtcdFrontTls;
};

export type EtcdFront = AsyncDisposable & {
  /** With the ports that were picked. */
  readonly urls: readonly string[];
  /** For connections from now on. */
  setTls(tls: EtcdFrontCertificates): void;
};

const KIBIBYTE = 1024;
const GIBIBYTE = 1024 * 1024 * KIBIBYTE;
/** What a client may have sent on a call before somebody looks; and how many calls it may have open. */
const SETTINGS = { initialWindowSize: 256 * KIBIBYTE, maxConcurrentStreams: 10_000 };
/** Events of one revision are one message, whatever their number: Node's own limit would end the connection. */
const SESSION_MEMORY_MB = 1024;
/** What all calls together may hold of requests that are coming and answers that are going. */
const MEMORY_BYTES = GIBIBYTE;
const LONGEST_STATUS = 1024;
const CLOSING_MS = 1000;

export async function startEtcdFront(store: Store, options: EtcdFrontOptions): Promise<EtcdFront> {
  const places = options.urls.map((url) => parsePlace(url, options.tls));
  const urls: string[] = [];
  const calls = callsOf(store, () => urls);
  const streams = new Set<GrpcStream>();
  const budget = new MemoryBudget(MEMORY_BYTES);
  const sessions = new Set<ServerHttp2Session>();
  const servers: Http2Server[] = [];
  const close = closeOnce(async () => {
    const closed = servers.map((server) => once(server, 'close'));
    for (const server of servers) server.close();
    for (const stream of streams) if (stream.isLasting) stream.end(grpcCode.unavailable, 'etcdserver: server stopped');
    for (const session of sessions) session.close();
    const late = setTimeout(() => {
      for (const session of sessions) session.destroy();
    }, CLOSING_MS);
    await Promise.all(closed);
    clearTimeout(late);
  });
  try {
    for (const place of places) {
      const server = listener(place, options.tls);
      servers.push(server);
      server.on('session', (session) => {
        sessions.add(session);
        session.on('error', () => {}); // told by close
        session.on('close', () => sessions.delete(session));
      });
      server.on('stream', (stream, headers) => void answer({ calls, streams, budget }, stream, headers));
      server.listen(place.port, place.host);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      urls.push(`${place.isTls ? 'https' : 'http'}://${place.hostText}:${port}`);
    }
  } catch (err) {
    for (const server of servers) server.close();
    throw new StoreError('Unavailable', `Cannot serve the store as etcd: ${(err as Error).message}`, { cause: err });
  }
  const setTls = ({ cert, key, clientAuthorities }: EtcdFrontCertificates) => {
    for (const server of servers)
      if (server instanceof TlsServer) server.setSecureContext({ cert, key, ca: [...clientAuthorities] });
  };
  return { urls, setTls, [Symbol.asyncDispose]: close };
}

/** Calls that go on until somebody ends them. */
const LASTING: ReadonlySet<string> = new Set(['/etcdserverpb.Watch/Watch', '/etcdserverpb.Lease/LeaseKeepAlive']);

type Serve = (stream: GrpcStream) => Promise<void>;

function callsOf(store: Store, urls: () => readonly string[]): ReadonlyMap<string, Serve> {
  const snapshots = new SnapshotService(store);
  const calls = new Map<string, Serve>([
    ['Watch/Watch', (stream) => serveWatches(store, stream)],
    ['Lease/LeaseKeepAlive', (stream) => serveKeepAlive(store, stream)],
    ['Maintenance/Snapshot', (stream) => snapshots.serve(stream)],
  ]);
  const unaries = { ...kvService(store), ...leaseService(store), ...maintenanceService(store, urls) };
  for (const [name, unary] of Object.entries(unaries))
    calls.set(name, async (stream) => {
      const answer = await unary(await stream.message(), stream);
      stream.memory.atLeast(answer instanceof LongMessage ? answer.size : answer.length);
      await stream.answer(answer);
    });
  return new Map([...calls].map(([name, serve]) => [`/etcdserverpb.${name}`, serve]));
}

type Front = {
  readonly calls: ReadonlyMap<string, Serve>;
  readonly streams: Set<GrpcStream>;
  readonly budget: MemoryBudget;
};

async function answer(front: Front, http2Stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
  const path = String(headers[':path']);
  const stream = new GrpcStream(http2Stream, headers, LASTING.has(path), front.budget);
  front.streams.add(stream);
  http2Stream.on('close', () => front.streams.delete(stream));
  try {
    const serve = front.calls.get(path);
    if (!serve) throw unknownMethod(path);
    await serve(stream);
    stream.end();
  } catch (err) {
    const { code, message } = toFrontError(err);
    stream.end(code, message.slice(0, LONGEST_STATUS));
  }
}

function unknownMethod(path: string): FrontError {
  const [, service, method] = /^\/([^/]*)\/(.*)$/.exec(path) ?? [];
  if (service === undefined)
    return new FrontError(grpcCode.resourceExhausted, `malformed method name: ${JSON.stringify(path)}`);
  const isKnown = service.startsWith('etcdserverpb.');
  const text = isKnown ? `unknown method ${method} for service ${service}` : `unknown service ${service}`;
  return new FrontError(grpcCode.unimplemented, text);
}

type Place = {
  readonly isTls: boolean;
  readonly host: string;
  /** As it stands in a URL. */
  readonly hostText: string;
  readonly port: number;
};

function parsePlace(text: string, tls: EtcdFrontTls | undefined): Place {
  const refusal = (found: string) =>
    new StoreError('InvalidArgument', `Cannot serve the store as etcd at ${JSON.stringify(text)}: ${found}`);
  if (!URL.canParse(text)) throw refusal('it is no URL, write it as http://127.0.0.1:2379');
  const { protocol, hostname, port, pathname, search } = new URL(text);
  const isTls = protocol === 'https:';
  if (!isTls && protocol !== 'http:') throw refusal('it begins with neither http:// nor https://');
  if (pathname !== '/' || search !== '') throw refusal('it has something after its host and port');
  const host = hostname.replace(/^\[|\]$/g, '');
  if (!isTls && !(host === 'localhost' || host === '::1' || host.startsWith('127.')))
    throw refusal('without TLS anybody who reaches it could read and write everything: use https://, or 127.0.0.1');
  if (isTls && !tls) throw refusal('https:// needs certificates');
  return { isTls, host, hostText: hostname, port: port === '' ? 2379 : Number(port) };
}

function listener({ isTls }: Place, tls: EtcdFrontTls | undefined): Http2Server {
  const options = { settings: SETTINGS, maxSessionMemory: SESSION_MEMORY_MB };
  if (!isTls || !tls) return createServer(options);
  const { cert, key, clientAuthorities, mayUse } = tls;
  const server = createSecureServer({
    ...options,
    cert,
    key,
    ca: [...clientAuthorities],
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const organisations: string | string[] | undefined = socket.getPeerCertificate().subject?.O;
    if (!mayUse([organisations ?? []].flat())) socket.destroy();
  });
  return server;
}
