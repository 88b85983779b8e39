/**
 * One request as a span: from the call to the end of its answer, repetitions included; of a watch, as long as it is
 * open. So the spans of lists and watches are those of their requests.
 *
 * It is an error if the last try was one. Being stopped by the caller is none.
 */
import { failSpan, SPAN_ERROR, type Span, type Tracer } from '../../api/tracer.ts';
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
  readonly #span: Span;
  readonly #holdsSecrets: boolean;
  #tries = 0;
  #failure: { readonly error: unknown } | { readonly code: number } | undefined;
  #isEnded = false;

  constructor(tracer: Tracer, { method, path, isStream, server }: SpannedRequest) {
    const { verb, resource, subresource, namespace, template } = requestInfo(method, path, isStream);
    this.#holdsSecrets = holdsSecrets(path);
    this.#span = tracer.startSpan(`${verb} ${resource ? withSub(resource, subresource) : template}`, {
      kind: CALL,
      attributes: {
        'http.request.method': method,
        'url.path': path,
        'url.template': template,
        'server.address': server.hostname,
        'server.port': Number(server.port) || (server.protocol === 'https:' ? 443 : 80),
        'k8s.verb': verb,
        ...(resource && { 'k8s.resource': resource }),
        ...(subresource && { 'k8s.subresource': subresource }),
        ...(namespace !== undefined && { 'k8s.namespace.name': namespace }),
      },
    });
  }

  /** Once for each try. Returns what is to be sent along (W3C Trace Context): nothing if the tracer does not say. */
  sent(): { readonly traceparent?: string } {
    this.#tries++;
    const context = this.#span.spanContext?.();
    if (!context || context.traceId === NOTHING) return {};
    const flags = context.traceFlags.toString(16).padStart(2, '0');
    return { traceparent: `00-${context.traceId}-${context.spanId}-${flags}` };
  }

  answered(code: number): void {
    this.#span.setAttribute('http.response.status_code', code);
    this.#failure = code >= 400 ? { code } : undefined;
  }

  /** `isStop`: by the caller, so nothing went wrong. */
  failed(error: unknown, isStop: boolean): void {
    this.#failure = isStop ? undefined : { error };
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#tries > 1) this.#span.setAttribute('http.request.resend_count', this.#tries - 1);
    const failure = this.#failure;
    if (failure && 'code' in failure) {
      this.#span.setAttribute('error.type', String(failure.code));
      this.#span.setStatus({ code: SPAN_ERROR });
    } else if (failure) {
      const reason = errorReason(failure.error);
      this.#span.setAttribute('error.type', reason);
      // The text of a broken answer can be a piece of it.
      failSpan(this.#span, this.#holdsSecrets ? reason : failure.error);
    }
    this.#span.end();
  }
}

function withSub(resource: string, subresource: string): string {
  return subresource ? `${resource}/${subresource}` : resource;
}
