/**
 * One JSON document posted to another server, and the one it answers. Within a time, and within so many bytes: whoever
 * answers more is cut off. An abort of the caller is passed on as it is; everything else that goes wrong is a CallError
 * whose text is that of kube-apiserver.
 */
import type { Dispatcher } from 'undici';
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { jsonText } from '../../api/json-text.ts';
import { noType } from '../codec/index.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { JsonSyntaxError, readJson } from '../codec/json/json-reader.ts';
import type { AbortNotice } from '../request/abort-notice.ts';
import type { CallTarget } from './call-target.ts';
import { networkErrorText } from './network-error.ts';
import type { OutboundConnections } from './outbound-connections.ts';

export class CallError extends Error {
  override readonly name = 'CallError';
  /** What the other server answered, if it did. */
  readonly code: number;

  constructor(message: string, options?: ErrorOptions & { code?: number }) {
    super(message, options);
    this.code = options?.code ?? 0;
  }
}

export type JsonCall = {
  readonly target: CallTarget;
  readonly body: Buffer;
  readonly timeoutSeconds: number;
  readonly limitBytes: number;
  readonly signal: AbortNotice;
};

/** Of a body that is told in an error. */
const SHOWN_BYTES = 2048;

const REQUEST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, */*',
  'user-agent': 'kube-apiserver-admission',
};

export async function postJson(connections: OutboundConnections, call: JsonCall): Promise<JsonObject> {
  const { target, timeoutSeconds, signal } = call;
  signal.throwIfAborted();
  const found = connections.poolOf(target);
  const path = `${target.path}?timeout=${timeoutSeconds}s`;
  let failed: unknown;
  try {
    const pool = found instanceof Promise ? await found : found;
    signal.throwIfAborted(); // what has fired is not heard of any more
    const { code, contentType, bytes } = await send(pool, path, call);
    return readAnswer(code, contentType, bytes);
  } catch (err) {
    failed = err;
  }
  signal.throwIfAborted();
  if (failed instanceof CallError) throw failed;
  const why = failed instanceof OverTimeError ? failed.message : networkErrorText(failed);
  throw new CallError(`Post "${target.url}?timeout=${timeoutSeconds}s": ${why}`, { cause: failed });
}

type Answered = { readonly code: number; readonly contentType: string; readonly bytes: Buffer };

class OverTimeError extends Error {
  constructor() {
    super('context deadline exceeded');
  }
}

/** The request as the HTTP client takes it at its lowest: streams and signals between cost more than all the rest of a call. */
function send(pool: Dispatcher, path: string, { target, body, timeoutSeconds, limitBytes, signal }: JsonCall) {
  return new Promise<Answered>((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let stopped: Error | undefined;
    let [code, contentType, length] = [0, '', 0];
    const chunks: Buffer[] = [];
    const stop = (why: Error) => {
      stopped ??= why;
      controller?.abort(why);
      end();
      reject(why);
    };
    const timer = setTimeout(() => stop(new OverTimeError()), timeoutSeconds * 1000);
    const giveUp = () => stop(new Error('the caller has gone', { cause: signal.reason }));
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    };
    signal.addEventListener('abort', giveUp);
    pool.dispatch(
      { path, method: 'POST', headers: headersFor(target), body },
      {
        onRequestStart(given) {
          controller = given;
          if (stopped) given.abort(stopped);
        },
        onResponseStart(_controller, status, headers) {
          code = status;
          contentType = String(headers['content-type'] ?? '');
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (length > limitBytes) stop(new CallError(`the answer is longer than ${limitBytes} bytes`));
          else chunks.push(chunk);
        },
        onResponseEnd() {
          end();
          resolve({ code, contentType, bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) });
        },
        onResponseError(_controller, error) {
          end();
          reject(stopped ?? error);
        },
      },
    );
  });
}

const headersOf = new WeakMap<CallTarget, Readonly<Record<string, string>>>();

function headersFor(target: CallTarget): Record<string, string> {
  let headers = headersOf.get(target);
  if (!headers) {
    headers = { ...REQUEST_HEADERS, host: new URL(target.origin).host };
    headersOf.set(target, headers);
  }
  return headers;
}

function readAnswer(code: number, contentType: string, bytes: Buffer): JsonObject {
  const mediaType = contentType.split(';', 1)[0]!.trim().toLowerCase();
  const isJson = mediaType === '' || mediaType === 'application/json';
  if (code < 200 || code > 206) throw refusal(code, mediaType, isJson, bytes);
  if (!isJson) throw new CallError(`serializer for ${contentType} doesn't exist`, { code });
  if (bytes.length === 0)
    throw new CallError(`0-length response with status code: ${code} and content type: ${contentType}`, { code });
  const found = tryJson(bytes);
  if (found instanceof JsonSyntaxError)
    throw new CallError(`couldn't get version/kind; json parse error: ${found.message}`, { code });
  if (!isObject(found)) throw new CallError(noType(found), { code });
  return found;
}

function tryJson(bytes: Buffer): JsonValue | JsonSyntaxError {
  try {
    return readJson(bytes.toString('utf8'), bytes).value;
  } catch (err) {
    if (err instanceof JsonSyntaxError) return err;
    throw err;
  }
}

/** A Status that it gave for an answer, or what its code says. */
function refusal(code: number, mediaType: string, isJson: boolean, bytes: Buffer): CallError {
  const status = isJson && bytes.length > 0 ? tryJson(bytes) : undefined;
  if (
    !(status instanceof JsonSyntaxError) &&
    isObject(status) &&
    (status.kind ?? 'Status') === 'Status' &&
    status.status === 'Failure'
  )
    return new CallError(typeof status.message === 'string' ? status.message : '', { code });
  const isText = mediaType === '' || mediaType.startsWith('text/');
  const text = isText ? bytes.subarray(0, SHOWN_BYTES).toString('utf8').trim() : 'unknown';
  return new CallError(codeText(code, text), { code });
}

const byCode: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
]);

function codeText(code: number, text: string): string {
  if (code === 403 || code === 415) return text;
  if (code === 406)
    return text === '' || text === 'unknown'
      ? 'the server was unable to respond with a content type that the client supports'
      : text;
  const known = byCode.get(code);
  if (known) return known;
  if (code >= 500) return `an error on the server (${jsonText(text)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
