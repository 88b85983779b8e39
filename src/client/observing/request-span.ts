/**
 * One request as a span: from the call to the end of its answer, repetitions included; of a watch, as long as it is
 * open. So the spans of lists and watches are those of their requests.
 *
 * It is an error if the last try was one. Being stopped by the caller is none. A tracer that throws, or gives no span, is
 * a process warning, once for each tracer, and changes nothing of the request.
 */
import { CallbackError } from '../../api/observing/callback-error.ts';
import { tellSafely } from '../../api/observing/tell-safely.ts';
import { failSpan, SPAN_ERROR, type Span, type SpanAttributes, type Tracer } from '../../api/observing/tracer.ts';
import { errorReason } from './error-reason.ts';
import { holdsSecrets, requestInfo } from './request-info.ts';

const CALL = 2;
const NOTHING = '00000000000000000000000000000000';

export type SpannedRequest = {
  readonly method: string;
  /** Without the query and the prefix of the cluster. */
  readonly path: string;
  readonly isStream: boolean;
  readonly server: URL;
};

export class RequestSpan {
  readonly #tracer: Tracer;
  readonly #span: Span | undefined;
  readonly #holdsSecrets: boolean;
  #tries = 0;
  #failure: { readonly error: unknown } | { readonly code: number } | undefined;
  #isEnded = false;

  constructor(tracer: Tracer, { method, path, isStream, server }: SpannedRequest) {
    const { verb, resource, subresource, namespace, template } = requestInfo(method, path, isStream);
    this.#tracer = tracer;
    this.#holdsSecrets = holdsSecrets(path);
    const name = `${verb} ${resource ? withSub(resource, subresource) : template}`;
    this.#span = startSpan(tracer, name, {
      'http.request.method': method,
      'url.path': path,
      'url.template': template,
      'server.address': server.hostname,
      'server.port': Number(server.port) || (server.protocol === 'https:' ? 443 : 80),
      'k8s.verb': verb,
      ...(resource && { 'k8s.resource': resource }),
      ...(subresource && { 'k8s.subresource': subresource }),
      ...(namespace !== undefined && { 'k8s.namespace.name': namespace }),
    });
  }

  /** Once for each try. Returns what is to be sent along (W3C Trace Context): nothing if the tracer does not say. */
  sent(): { readonly traceparent?: string } {
    this.#tries++;
    let sent: { readonly traceparent?: string } = {};
    this.#tell((span) => {
      const context = span.spanContext?.();
      if (typeof context?.traceId !== 'string' || context.traceId === NOTHING) return context; // perhaps an error to come
      const flags = context.traceFlags.toString(16).padStart(2, '0');
      sent = { traceparent: `00-${context.traceId}-${context.spanId}-${flags}` };
      return undefined;
    });
    return sent;
  }

  answered(code: number): void {
    this.#tell((span) => span.setAttribute('http.response.status_code', code));
    this.#failure = code >= 400 ? { code } : undefined;
  }

  /** `isStop`: by the caller, so nothing went wrong. */
  failed(error: unknown, isStop: boolean): void {
    this.#failure = isStop ? undefined : { error };
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#tries > 1) this.#tell((span) => span.setAttribute('http.request.resend_count', this.#tries - 1));
    const failure = this.#failure;
    if (failure && 'code' in failure) {
      this.#tell((span) => span.setAttribute('error.type', String(failure.code)));
      this.#tell((span) => span.setStatus({ code: SPAN_ERROR }));
    } else if (failure) {
      const reason = errorReason(failure.error);
      this.#tell((span) => span.setAttribute('error.type', reason));
      // The text of a broken answer can be a piece of it.
      const told = this.#holdsSecrets ? reason : failure.error;
      this.#tell((span) => failSpan(span, told, (error) => warnOnce(this.#tracer, error)));
    }
    this.#tell((span) => span.end());
  }

  #tell(tell: (span: Span) => unknown): void {
    const span = this.#span;
    if (span)
      tellSafely(
        () => tell(span),
        (error) => warnOnce(this.#tracer, error),
      );
  }
}

function startSpan(tracer: Tracer, name: string, attributes: SpanAttributes): Span | undefined {
  let span: Span | undefined;
  tellSafely(
    () => {
      const given: unknown = tracer.startSpan(name, { kind: CALL, attributes });
      const is = given as Partial<Span> | undefined;
      if (typeof is?.end !== 'function' || typeof is.setAttribute !== 'function') {
        if (given instanceof Promise) given.catch(() => {}); // what it is about is said below
        throw new TypeError('it gave no span');
      }
      span = given as Span;
    },
    (error) => warnOnce(tracer, error),
  );
  return span;
}

const failing = new WeakSet<Tracer>();

/** What fails with one request fails with the next ten thousand. */
function warnOnce(tracer: Tracer, error: unknown): void {
  if (failing.has(tracer)) return;
  failing.add(tracer);
  const warning = new CallbackError('tracer', '', 'the client', error);
  process.emitWarning(Object.assign(warning, { name: 'TracerWarning' }));
}

function withSub(resource: string, subresource: string): string {
  return subresource ? `${resource}/${subresource}` : resource;
}
