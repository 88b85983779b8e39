/**
 * The server behind an APIService: where it is, and requests of our own to it, as a member of the cluster's
 * administration. Bounded in time and bytes.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';
import { type CallTarget, callTarget, readAuthority } from '../outbound/call-target.ts';
import { networkErrorText } from '../outbound/network-error.ts';
import type { OutboundConnections } from '../outbound/outbound-connections.ts';
import type { Address, ResolveService } from '../outbound/service-resolver.ts';
import type { ApiService } from './api-service.ts';

export type ClientCertificate = { readonly cert: string; readonly key: string };

export type RemoteParts = {
  readonly connections: OutboundConnections;
  readonly resolve: ResolveService;
  /** The certificate that extension servers know this one by. */
  readonly clientCertificate: () => ClientCertificate | undefined;
};

export type RemoteAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer };

const DEFAULT_PORT = 443;

export class RemoteServer {
  readonly #parts: RemoteParts;
  readonly #spec: ApiService['spec'];
  #target: { readonly key: string; readonly target: CallTarget } | undefined;

  constructor(parts: RemoteParts, spec: ApiService['spec']) {
    this.#parts = parts;
    this.#spec = spec;
  }

  /** Where its Service is now; fails where that leads nowhere. */
  async locate(): Promise<Address> {
    const { namespace, name, port = DEFAULT_PORT } = this.#spec.service!;
    return this.#parts.resolve(namespace, name, port);
  }

  /** The same target for the same place, so that connections are found again. */
  targetAt({ host, port }: Address): CallTarget {
    const { service, caBundle, insecureSkipTLSVerify } = this.#spec;
    const certificate = this.#parts.clientCertificate();
    const key = `${host} ${port} ${certificate?.cert ?? ''}`;
    if (this.#target?.key === key) return this.#target.target;
    const shown = host.includes(':') ? `[${host}]` : host;
    const { origin, url, path } = callTarget({ url: `https://${shown}:${port}/` });
    const target: CallTarget = {
      origin,
      url,
      path,
      serverName: `${service!.name}.${service!.namespace}.svc`,
      ...(caBundle && { authority: readAuthority(caBundle) }),
      skipsTlsVerify: insecureSkipTLSVerify === true,
      ...(certificate && { clientCertificate: certificate }),
    };
    this.#target = { key, target };
    return target;
  }

  /** A GET as the aggregator itself. What goes wrong on the way is an Error that says what. */
  async get(
    path: string,
    accept: string,
    { timeoutMs, limitBytes, signal }: { timeoutMs: number; limitBytes: number; signal: AbortSignal },
  ): Promise<RemoteAnswer> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(new Error('context deadline exceeded')), timeoutMs);
    const giveUp = () => stop.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const address = await this.locate();
      const target = this.targetAt(address);
      const pool = await this.#parts.connections.poolOf(target);
      const { statusCode, headers, body } = await pool.request({
        path,
        method: 'GET',
        headers: { accept, 'x-remote-user': 'system:kube-aggregator', 'x-remote-group': 'system:masters' },
        signal: stop.signal,
      });
      const answer = new GatheredBytes(limitBytes);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        if (answer.add(chunk)) continue;
        body.destroy();
        throw new Error(`the answer is longer than ${limitBytes} bytes`);
      }
      return { status: statusCode, headers, body: Buffer.from(answer.take()) };
    } catch (err) {
      signal.throwIfAborted();
      throw new Error(stop.signal.aborted ? 'context deadline exceeded' : networkErrorText(err), { cause: err });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }
}
