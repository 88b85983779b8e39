/**
 * A server for the webhooks of an operator: admission and conversion, typed by tokens, over TLS with certificates that it
 * makes and renews, registered with their authority.
 *
 *     await using hooks = new WebhookServer({ name: 'widgets', client, service: { name: 'widgets', namespace: 'ops' } });
 *     hooks.validate(widgets, ({ object }) => (object.spec.size > 9 ? 'spec.size: must be at most 9' : undefined));
 *     hooks.mutate(widgets, ({ object }) => void (object.spec.color ??= 'red'));
 *     await hooks.start();
 *
 * Handlers are added before `start`. All replicas serve, whoever leads. A handler that throws is told to `onError` and to the
 * API server as a 500, without its text; a body over 16 MiB is not read. Closing stops listening and waits for answers.
 */
import { once, setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';
import { backgroundClock, type Clock, closeOnce, tellSafely } from '../../api/index.ts';
import type { AnyObject, KubeClient, Resource } from '../../client/index.ts';
import {
  type MutatingHandler,
  NoReviewError,
  type Review,
  reviewWith,
  type ValidatingHandler,
} from './admission-handlers.ts';
import {
  type AnyConverter,
  Conversion,
  type ConversionReview,
  type Converter,
  convertReview,
} from './conversion-handlers.ts';
import { type RegisteredHook, type RuleOptions, register } from './registration.ts';
import { type CertificateOptions, type CertificateSet, certificateSource } from './webhook-certificates.ts';

export type WebhookServerOptions = {
  /** Of the configurations, and of who writes them. */
  readonly name: string;
  /** With one, what is served is registered; without one, that is left to others. */
  readonly client?: KubeClient | undefined;
  /** 9443; 0 is any that is free. */
  readonly port?: number | undefined;
  /** All addresses. */
  readonly host?: string | undefined;
  /** How API servers find it in a cluster; its names are in the certificate. */
  readonly service?: { readonly name: string; readonly namespace: string; readonly port?: number } | undefined;
  /** Or by an address: `https://127.0.0.1` with its port if neither is set, for API servers on this machine. */
  readonly url?: string | undefined;
  /** In a Secret if there are a client and a service; else of this process. */
  readonly certificates?: CertificateOptions | undefined;
  readonly clock?: Clock | undefined;
  /** What time it is, for certificates. */
  readonly now?: (() => Date) | undefined;
  /** What a handler throws, and what keeps certificates from being renewed. */
  readonly onError?: ((error: unknown, about: string) => void) | undefined;
};

type Route = (body: unknown, signal: AbortSignal) => Promise<object>;

const LIMIT_BYTES = 16 * 1024 * 1024;
const LOOK_AGAIN_MS = 60_000;
const MAX_TIMEOUT_MS = 30_000;

export class WebhookServer implements AsyncDisposable {
  readonly #options: WebhookServerOptions;
  readonly #clock: Clock;
  readonly #routes = new Map<string, Route>();
  readonly #hooks: RegisteredHook[] = [];
  readonly #conversions = new Map<string, Conversion>();
  readonly #ending = new AbortController();
  #server: Server | undefined;
  #certificates: CertificateSet | undefined;
  #keeping: Promise<void> | undefined;
  readonly close: () => Promise<void> = closeOnce(() => this.#close());

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? backgroundClock;
    setMaxListeners(0, this.#ending.signal); // every request that is being answered has one
  }

  validate<T extends AnyObject>(resource: Resource<T>, handler: ValidatingHandler<T>, options: RuleOptions = {}): this {
    return this.#add('validate', resource, handler as ValidatingHandler<AnyObject>, options);
  }

  mutate<T extends AnyObject>(resource: Resource<T>, handler: MutatingHandler<T>, options: RuleOptions = {}): this {
    return this.#add('mutate', resource, handler as unknown as MutatingHandler<AnyObject>, options);
  }

  /**
   * Once for every version but the hub:
   *
   *     hooks.convert(widgets, widgetsV1beta1).by({ toHub: (old) => ..., fromHub: (widget) => ... });
   *
   * In two calls, for only then does the compiler know what the functions must return while it reads them.
   */
  convert<Hub extends AnyObject, Spoke extends AnyObject>(
    hub: Resource<Hub>,
    spoke: Resource<Spoke>,
  ): { by(converter: Converter<Hub, Spoke>): WebhookServer } {
    this.#mustNotRun();
    const path = `/convert/${hub.group}/${hub.plural}`;
    const known = this.#conversions.get(path) ?? new Conversion(hub as Resource);
    if (known.hub.apiVersion !== hub.apiVersion)
      throw new TypeError(
        `Cannot convert ${hub.plural} by way of ${hub.apiVersion}: ${known.hub.apiVersion} is its hub`,
      );
    this.#conversions.set(path, known);
    this.#routes.set(path, async (body) => convertReview(body as ConversionReview, known));
    const by = (converter: Converter<Hub, Spoke>) => {
      known.add(spoke as Resource, converter as unknown as AnyConverter);
      return this;
    };
    return { by };
  }

  /** Where it listens. */
  get port(): number {
    const address = this.#server?.address() as AddressInfo | null | undefined;
    if (!address) throw new Error('Cannot tell the port of the webhook server: it does not listen');
    return address.port;
  }

  /** PEM of whom to trust. */
  get authorityPem(): string {
    if (!this.#certificates) throw new Error('Cannot tell the authority of the webhook server: it was not started');
    return this.#certificates.authorityPem;
  }

  /** Listens, and then says so to the cluster: nobody calls a webhook that is not there. */
  async start(): Promise<void> {
    this.#mustNotRun();
    const { port = 9443, host, client } = this.#options;
    const empty = [...this.#conversions.values()].find(({ isEmpty }) => isEmpty);
    if (empty) throw new Error(`Cannot convert ${empty.hub.plural}: \`convert\` was called without \`by\``);
    const source = certificateSource(this.#certificateOptions(), this.#hosts(), client);
    this.#certificates = await source(this.#now());
    const { createServer } = await import('node:https');
    const { certPem: cert, keyPem: key } = this.#certificates;
    const server = createServer({ cert, key, minVersion: 'TLSv1.2' }, (request, response) => {
      void this.#serve(request, response);
    });
    this.#server = server;
    server.listen(port, host);
    await once(server, 'listening', { signal: this.#ending.signal });
    await this.#register(this.#certificates);
    this.#keeping = this.#keep(source);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #add(
    kind: 'validate' | 'mutate',
    resource: Resource<AnyObject>,
    handler: ValidatingHandler<AnyObject> | MutatingHandler<AnyObject>,
    options: RuleOptions,
  ): this {
    this.#mustNotRun();
    const { group, version, plural } = resource;
    const base = `/${kind}/${group || 'core'}/${version}/${plural}`;
    let path = base;
    for (let number = 2; this.#routes.has(path); number++) path = `${base}-${number}`;
    this.#hooks.push({ kind, path, resource, options });
    this.#routes.set(path, (body, signal) => reviewWith(body as Review, kind, handler, signal));
    return this;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '/').split('?', 2);
    const route = this.#routes.get(path);
    const send = (code: number, answer: object | string) => {
      // Whoever waits for the end waits for answers, and not for connections.
      response.shouldKeepAlive &&= !this.#ending.signal.aborted;
      sendAnswer(response, code, answer);
    };
    try {
      if (path === '/readyz' || path === '/livez') return send(200, 'ok');
      if (!route) return send(404, 'Cannot find this webhook');
      if (request.method !== 'POST') return send(405, 'Cannot do this: only POST');
      const body = await readJson(request);
      send(200, await this.#untilEnding(timeoutIn(query), (signal) => route(body, signal)));
    } catch (error) {
      if (error instanceof NoReviewError || error instanceof SyntaxError) return send(400, error.message);
      if (error instanceof TooLargeError) return send(413, error.message);
      this.#failed(error, path);
      send(500, 'Cannot answer: the handler of this webhook has failed');
    }
  }

  /** Not by AbortSignal.any, of which something stays with the signal that lives long: there is one of these per request. */
  async #untilEnding<T>(timeoutMs: number, answer: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const onEnding = () => stop.abort(this.#ending.signal.reason);
    // It may have ended while the body was read.
    if (this.#ending.signal.aborted) onEnding();
    else this.#ending.signal.addEventListener('abort', onEnding, { once: true });
    const timer = setTimeout(
      () => stop.abort(new DOMException('The API server waits no longer', 'TimeoutError')),
      timeoutMs,
    );
    try {
      return await answer(stop.signal);
    } finally {
      clearTimeout(timer);
      this.#ending.signal.removeEventListener('abort', onEnding);
    }
  }

  /** Certificates are looked at every minute: time does not pass evenly for a process that was suspended. */
  async #keep(source: (now: Date) => Promise<CertificateSet>): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(LOOK_AGAIN_MS, signal);
        const before = this.#certificates!;
        const now = await source(this.#now());
        if (now.certPem === before.certPem && now.authorityPem === before.authorityPem) continue;
        // Whoever calls must trust the new one before it is shown. Until both is done it is not ours: it is tried again.
        if (now.authorityPem !== before.authorityPem) await this.#register(now);
        this.#server?.setSecureContext({ cert: now.certPem, key: now.keyPem, minVersion: 'TLSv1.2' });
        this.#certificates = now;
      } catch (error) {
        if (!signal.aborted) this.#failed(error, 'certificates');
      }
    }
  }

  async #register({ authorityPem }: CertificateSet): Promise<void> {
    const { client, name, service } = this.#options;
    if (!client) return;
    const target = service ? { service } : { url: this.#url() };
    const conversions = [...this.#conversions].map(([path, { hub: resource }]) => ({ path, resource }));
    await register(client, { name, target, authorityPem, hooks: this.#hooks, conversions }, this.#ending.signal);
  }

  #certificateOptions(): CertificateOptions {
    const { certificates, client, service, name } = this.#options;
    if (certificates) return certificates;
    if (!client || !service) return { kind: 'memory' };
    return { kind: 'secret', name: `${name}-webhook-certificates`, namespace: service.namespace };
  }

  #url(): string {
    const { url = `https://127.0.0.1:${this.port}` } = this.#options;
    return url.endsWith('/') ? url.slice(0, -1) : url;
  }

  #hosts(): string[] {
    const { service, url } = this.#options;
    if (service) {
      const { name, namespace } = service;
      return [`${name}.${namespace}.svc`, `${name}.${namespace}`, `${name}.${namespace}.svc.cluster.local`];
    }
    return [url === undefined ? '127.0.0.1' : new URL(url).hostname.replace(/^\[|\]$/g, '')];
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }

  #failed(error: unknown, about: string): void {
    tellSafely(
      () => this.#options.onError?.(error, about),
      () => {}, // it has nobody else to tell
    );
  }

  #mustNotRun(): void {
    if (this.#server || this.#ending.signal.aborted)
      throw new Error('Cannot change or start the webhook server: it was started already');
  }

  async #close(): Promise<void> {
    const server = this.#server;
    this.#ending.abort(new Error('The webhook server is closed'));
    await this.#keeping;
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    await closed;
  }
}

class TooLargeError extends Error {}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = new GatheredBytes(LIMIT_BYTES);
  for await (const chunk of request as AsyncIterable<Buffer>)
    if (!body.add(chunk)) throw new TooLargeError(`Cannot read a review of more than ${LIMIT_BYTES} bytes`);
  return JSON.parse(body.takeText());
}

/** API servers say how long they wait: `?timeout=10s`. */
function timeoutIn(query: string): number {
  const seconds = /^(\d{1,3})s$/.exec(new URLSearchParams(query).get('timeout') ?? '')?.[1];
  return seconds === undefined ? MAX_TIMEOUT_MS : Math.min(Number(seconds) * 1000, MAX_TIMEOUT_MS);
}

function sendAnswer(response: ServerResponse, code: number, body: object | string): void {
  if (response.destroyed) return;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(code, {
    'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(code === 413 && { connection: 'close' }),
  });
  response.end(text);
}
