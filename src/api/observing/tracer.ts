/**
 * Traces without a dependency: the part of OpenTelemetry's Tracer that is used here, by its shape. So
 * `trace.getTracer('my-operator')` of `@opentelemetry/api` fits as it is, and so do ten lines of one's own.
 *
 * Spans are children of whatever span is active where the work was begun; finding that out is the tracer's part.
 */
import { tellSafely } from './tell-safely.ts';

export type SpanAttributes = Record<string, string | number | boolean>;

export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  /** 0 is unset, 1 is well, 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: Error | string): void;
  /** What the server is told, so that its spans join ours. */
  spanContext?(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  end(): void;
}

export interface Tracer {
  /** `kind`: 0 is within this process, 2 is a call to another. */
  startSpan(name: string, options?: { kind?: number; attributes?: SpanAttributes }): Span;
  /** The span is the active one while `work` runs; it is for `work` to end it. */
  startActiveSpan<R>(name: string, options: { kind?: number; attributes?: SpanAttributes }, work: (span: Span) => R): R;
}

/** 2, by OpenTelemetry's numbers. */
export const SPAN_ERROR = 2;

/**
 * Runs `work` once as one active span, which ends with it and says so if it throws. Without a tracer it just runs, and
 * so it does with one that throws, never calls it or never ends: tracing changes nothing of what is traced. What the
 * tracer or its span throws is for `onFailure`.
 */
export async function traced<R>(
  tracer: Tracer | undefined,
  name: string,
  attributes: SpanAttributes,
  work: () => R | Promise<R>,
  onFailure: (error: unknown) => void = () => {},
): Promise<R> {
  if (!tracer) return await work();
  let result: Promise<R> | undefined;
  const run = async (span: Span): Promise<R> => {
    try {
      return await work();
    } catch (error) {
      failSpan(span, error, onFailure);
      throw error;
    } finally {
      tellSafely(() => span.end(), onFailure);
    }
  };
  const begin = (span: Span): Promise<R> => {
    result ??= run(span);
    return result;
  };
  tellSafely(() => {
    // What it gives back is for whoever made it: a failure of `work` is thrown below, and is none of the tracer's.
    const given: unknown = tracer.startActiveSpan(name, { attributes }, begin);
    if (given instanceof Promise) given.catch(() => {});
  }, onFailure);
  return await (result ?? work());
}

/** What the span throws is for `onFailure`. */
export function failSpan(span: Span, error: unknown, onFailure: (error: unknown) => void): void {
  const exception = error instanceof Error ? error : String(error);
  const message = typeof exception === 'string' ? exception : exception.message;
  tellSafely(() => span.recordException(exception), onFailure);
  tellSafely(() => span.setStatus({ code: SPAN_ERROR, message }), onFailure);
}
