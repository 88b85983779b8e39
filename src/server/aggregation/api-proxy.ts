/**
 * Requests for what another server answers for, passed on to it, and its answers passed back as they are.
 *
 * The request was authenticated and authorised here; the other server learns who it is from by headers, which it believes
 * because of this server's client certificate. What the client itself said of that kind, and its own credentials, stay
 * here. Bodies are bounded as all bodies are; an answer is passed on as it comes, no faster than the client takes it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { serviceUnavailable } from '../../api/index.ts';
import { networkErrorText } from '../outbound/network-error.ts';
import type { OutboundConnections } from '../outbound/outbound-connections.ts';
import type { ByteStream, RequestContext } from '../request/request-context.ts';
import { isLongRunning } from '../request/request-info.ts';
import type { RemoteApi } from './remote-apis.ts';

const UNAVAILABLE = 'service unavailable';
const TEXT = 'text/plain; charset=utf-8';
/** Below what this server would compress itself. */
const SHORT_BYTES = 64 * 1024;
/** Of all but watches, from the first byte to the last. */
const LONGEST_MS = 60_000;
const OVER_TIME = 'context deadline exceeded';

/** Between two servers only, or the client's own business with this one. */
const NOT_SENT =
  /^(?::|x-remote-|impersonate-|(?:authorization|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|expect|x-forwarded-(?:host|proto|uri))$)/;
/** Of an answer: what is said for each connection, or said here. */
const NOT_PASSED_BACK =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-type|date|access-control-.*)$/;

type Headers = Record<string, string | string[]>;

export async function proxyRequest(
  context: RequestContext,
  api: RemoteApi,
  connections: OutboundConnections,
): Promise<void> {
  if (!api.isAvailable) return refuse(context, UNAVAILABLE);
  const address = await api.server.locate().catch(() => undefined);
  if (!address) return refuse(context, UNAVAILABLE);
  const { method, path, signal } = context;
  const target = api.server.targetAt(address);
  const escaped = encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23');
  const query = context.queryText === '' ? '' : `?${context.queryText}`;
  // The answer calls the request what the other server knows it by.
  context.headers['audit-id'] ??= randomUUID();
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? await context.readBody() : undefined;
  const stop = new AbortController();
  const giveUp = () => stop.abort(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  const isLong = isLongRunning(context.requestInfo);
  const timer = isLong ? undefined : setTimeout(() => stop.abort(new Error(OVER_TIME)), LONGEST_MS);
  const passing = { isBegun: false };
  try {
    const pool = await connections.poolOf(target);
    const answer = await pool.request({
      path: `${escaped}${query}`,
      method: method as 'GET',
      headers: forwardedHeaders(context, new URL(target.origin).host, escaped),
      signal: stop.signal,
      ...(body && { body }),
    });
    await passBack(context, answer.statusCode, answer.headers, answer.body, passing);
  } catch (err) {
    signal.throwIfAborted();
    const why = `error trying to reach service: ${stop.signal.aborted ? OVER_TIME : networkErrorText(err)}`;
    // What has begun is cut off: a clean end would make half an answer look whole.
    if (passing.isBegun) throw serviceUnavailable(why);
    refuse(context, why);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

function refuse(context: RequestContext, text: string): void {
  context.send(503, TEXT, Buffer.from(`${text}\n`), { 'X-Content-Type-Options': 'nosniff' });
}

function forwardedHeaders({ headers, user, remoteAddress }: RequestContext, host: string, path: string): Headers {
  const sent: Headers = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !NOT_SENT.test(name)) sent[name] = value;
  const before = headers['x-forwarded-for'];
  const from = (remoteAddress ?? '').replace(/^::ffff:/, '');
  sent['x-forwarded-for'] = before === undefined ? from : `${String(before)}, ${from}`;
  sent['x-forwarded-host'] = host;
  sent['x-forwarded-proto'] = 'https';
  sent['x-forwarded-uri'] = path;
  sent['x-remote-user'] = user.username;
  if (user.uid) sent['x-remote-uid'] = user.uid;
  if (user.groups.length > 0) sent['x-remote-group'] = [...user.groups];
  for (const [key, values] of Object.entries(user.extra ?? {})) sent[`x-remote-extra-${headerKey(key)}`] = [...values];
  return sent;
}

/** What no header name can hold is written in percents. */
function headerKey(key: string): string {
  return [...Buffer.from(key, 'utf8')]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** A short answer is sent whole, so that its client learns its length; a long one, or a watch, as it comes. */
async function passBack(
  context: RequestContext,
  status: number,
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Buffer>,
  passing: { isBegun: boolean },
): Promise<void> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !NOT_PASSED_BACK.test(name))
      passed[name] = Array.isArray(value) ? value.join(', ') : value;
  const type = String(headers['content-type'] ?? '');
  let held: Buffer[] = [];
  let heldBytes = 0;
  const begin = () => {
    passing.isBegun = true;
    return context.stream(type, status, passed);
  };
  let stream: ByteStream | undefined = isLongRunning(context.requestInfo) ? begin() : undefined;
  for await (const chunk of body) {
    if (stream) {
      if (!(await written(stream, chunk))) return;
      continue;
    }
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes <= SHORT_BYTES) continue;
    stream = begin();
    if (!(await written(stream, Buffer.concat(held)))) return;
    held = [];
  }
  if (stream) stream.end('upstream-ended');
  else context.send(status, type, Buffer.concat(held), passed);
}

/** Resolves when the client has room for more; false once it is gone. */
function written(stream: ByteStream, bytes: Buffer): boolean | Promise<boolean> {
  if (stream.write(bytes)) return true;
  return new Promise((resolve) => {
    stream.onDrain(() => resolve(true));
    stream.onClose(() => resolve(false));
  });
}
