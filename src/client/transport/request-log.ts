/**
 * Requests as log lines, in the levels of klog: 6 a line each, 7 headers, 8 bodies cut short, 9 bodies whole. Those
 * that wait long for the client's own rate limit are logged from 2 on.
 *
 * Credentials never reach a line. Bodies of what holds secrets by its nature are logged by their size only; it is
 * decided by the path, since a body that is cut or broken can not be trusted to say what it is. There the text of an
 * error is left out too: it may quote the body.
 */
import { errorReason } from '../observing/error-reason.ts';
import { holdsSecrets } from '../observing/request-info.ts';
import { SafeLogger } from '../observing/safe-logger.ts';
import type { Headers, TransportOptions } from './transport-options.ts';

/** By name, or by what they look like: headers of the caller's own may carry credentials too. */
const secretHeaders = /auth|cookie|token|secret|password|credential|api-?key/i;
const secretValues = /^(bearer|basic|negotiate|digest) /i;
const CUT_CHARACTERS = 1024;
/** Shorter waits for one's own limit are what a limit is for. */
const LONG_WAIT_MS = 1000;

export class RequestLog {
  readonly #log: SafeLogger;

  constructor({ logger }: Pick<TransportOptions, 'logger'>) {
    this.#log = new SafeLogger(logger);
  }

  /** Whether bodies are to be given to it. */
  get wantsBodies(): boolean {
    return this.#log.level >= 8;
  }

  sent(request: string, headers: Headers, path: string, body: string | Buffer | undefined): void {
    if (this.#log.level < 7) return;
    const fields = { request, headers: shownHeaders(headers) };
    this.#log.log(7, `${request} request headers: ${headersText(headers)}`, fields);
    if (body !== undefined && this.#log.level >= 8) this.#body(request, 'request body', path, body.toString());
  }

  answered(request: string, path: string, code: number, headers: Headers, ms: number, body?: string): void {
    if (this.#log.level < 6) return;
    this.#log.log(6, `${request} ${code} in ${Math.round(ms)} ms`, { request, code, durationMs: ms });
    if (this.#log.level < 7) return;
    const fields = { request, headers: shownHeaders(headers) };
    this.#log.log(7, `${request} response headers: ${headersText(headers)}`, fields);
    if (body !== undefined && this.#log.level >= 8) this.#body(request, 'response body', path, body);
  }

  failed(request: string, path: string, error: unknown, ms: number): void {
    if (this.#log.level < 6) return;
    const text = errorText(path, error);
    this.#log.log(6, `${request} failed in ${Math.round(ms)} ms: ${text}`, { request, error: text, durationMs: ms });
  }

  repeated(request: string, path: string, error: unknown, delayMs: number): void {
    if (this.#log.level < 6) return;
    const text = errorText(path, error);
    this.#log.log(6, `${request} again in ${Math.round(delayMs)} ms: ${text}`, { request, error: text, delayMs });
  }

  /** Level 2: a program that is slow by its own limit should say so to whoever looks. */
  limited(request: string, waitMs: number): void {
    if (this.#log.level < 2 || waitMs <= LONG_WAIT_MS) return;
    this.#log.log(2, `${request} waits ${waitMs} ms for this client's own rate limit`, { request, waitMs });
  }

  #body(request: string, what: string, path: string, text: string): void {
    const isWhole = this.#log.level > 8;
    const body = holdsSecrets(path) ? '<redacted>' : isWhole ? text : text.slice(0, CUT_CHARACTERS);
    const fields = { request, characters: text.length, body };
    this.#log.log(isWhole ? 9 : 8, `${request} ${what} (${text.length} characters): ${body}`, fields);
  }
}

export function headersText(headers: Headers): string {
  return Object.entries(shownHeaders(headers))
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

function shownHeaders(headers: Headers): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = String(value);
    shown[name] = secretHeaders.test(name) || secretValues.test(text) ? '<redacted>' : text;
  }
  return shown;
}

function errorText(path: string, error: unknown): string {
  if (holdsSecrets(path)) return errorReason(error);
  return error instanceof Error ? error.message : String(error);
}
