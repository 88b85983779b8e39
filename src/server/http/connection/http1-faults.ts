/**
 * What is wrong with a request of HTTP/1.1 before anybody asks what it wants, in the words of Go's server. Node's parser
 * is more lenient than that: it lets through what leaves open which host is meant, or which protocol is spoken.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasTooManyHeaders } from './head-limits.ts';

export type Http1Fault = { readonly status: number; readonly text: string };

const TOO_OLD: Http1Fault = { status: 400, text: 'Bad Request' };
const UNKNOWN_VERSION: Http1Fault = {
  status: 505,
  text: 'HTTP Version Not Supported: unsupported protocol version',
};
const TOO_MANY_HEADERS: Http1Fault = { status: 431, text: 'Request Header Fields Too Large' };
const NO_HOST: Http1Fault = { status: 400, text: 'Bad Request: missing required Host header' };
const TWO_HOSTS: Http1Fault = { status: 400, text: 'Bad Request: too many Host headers' };
const BAD_HOST: Http1Fault = { status: 400, text: 'Bad Request: malformed Host header' };

export function http1Fault({
  httpVersionMajor,
  httpVersionMinor,
  method,
  headers,
  rawHeaders,
}: IncomingMessage): Http1Fault | undefined {
  if (httpVersionMajor === 0) return TOO_OLD; // no version in the request line: HTTP/0.9
  if (httpVersionMajor !== 1) return UNKNOWN_VERSION;
  if (hasTooManyHeaders(rawHeaders)) return TOO_MANY_HEADERS; // the Host may be among those that are missing
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') hosts++;
  if (hosts > 1) return TWO_HOSTS;
  if (hosts === 0) return httpVersionMinor > 0 && method !== 'CONNECT' ? NO_HOST : undefined;
  return /^[\w!$%&'()*+,.:;=[\]~-]*$/.test(headers.host ?? '') ? undefined : BAD_HOST;
}

/** In its turn, after the answers that the connection still owes. */
export function refuseHttp1(response: ServerResponse, { status, text }: Http1Fault): void {
  const body = `${status} ${text}`;
  response.shouldKeepAlive = false;
  response.sendDate = false;
  response.writeHead(status, text, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length });
  response.end(body);
}
