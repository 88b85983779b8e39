/**
 * Requests as log lines, in the levels of klog: 6 a line each, 7 headers, 8 bodies cut short, 9 bodies whole.
 *
 * Credentials never reach a line. Bodies of what holds secrets by its nature are told by their size only; it is decided
 * by the path, since a body that is cut or broken can not be trusted to say what it is.
 */
import type { Headers, TransportOptions } from './transport-options.ts';

const secretHeaders = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);
const secretPaths = /\/(secrets|tokenreviews|token|certificatesigningrequests)(\/|$)/;
const CUT_CHARACTERS = 1024;

export class RequestLog {
  readonly #verbosity: number;
  readonly #log: (line: string, level: number) => void;

  constructor({ verbosity = 0, log }: TransportOptions) {
    this.#log = log ?? ((line) => console.error(line));
    this.#verbosity = verbosity;
  }

  sent(request: string, headers: Headers, path: string, body: string | Buffer | undefined): void {
    if (this.#verbosity < 7) return;
    this.#log(`${request} request headers: ${headersText(headers)}`, 7);
    if (body !== undefined) this.#body(`${request} request body`, path, body.toString());
  }

  answered(request: string, path: string, code: number, headers: Headers, ms: number, body?: string): void {
    if (this.#verbosity < 6) return;
    this.#log(`${request} ${code} in ${Math.round(ms)} ms`, 6);
    if (this.#verbosity >= 7) this.#log(`${request} response headers: ${headersText(headers)}`, 7);
    if (body !== undefined) this.#body(`${request} response body`, path, body);
  }

  failed(request: string, error: unknown, ms: number): void {
    if (this.#verbosity >= 6) this.#log(`${request} failed in ${Math.round(ms)} ms: ${(error as Error)?.message}`, 6);
  }

  repeated(request: string, error: unknown, delayMs: number): void {
    if (this.#verbosity >= 6)
      this.#log(`${request} again in ${Math.round(delayMs)} ms: ${(error as Error).message}`, 6);
  }

  #body(what: string, path: string, text: string): void {
    if (this.#verbosity < 8) return;
    const shown = secretPaths.test(path) ? '<redacted>' : this.#verbosity > 8 ? text : text.slice(0, CUT_CHARACTERS);
    this.#log(`${what} (${text.length} characters): ${shown}`, shown.length < text.length ? 8 : 9);
  }
}

export function headersText(headers: Headers): string {
  return Object.entries(headers)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${secretHeaders.has(name.toLowerCase()) ? '<redacted>' : value}`)
    .join(', ');
}
