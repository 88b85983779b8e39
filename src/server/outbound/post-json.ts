/**
 * One JSON document posted to another server, and the one it answers. Within a time, and within so many bytes: whoever
 * answers more is cut off. An abort of the caller is passed on as it is; everything else that goes wrong is a CallError
 * whose text is that of kube-apiserver.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { jsonText } from '../../api/json-text.ts';
import { noType } from '../codec/index.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { JsonSyntaxError, readJson } from '../codec/json/json-reader.ts';
import type { AbortNotice } from '../request/abort-notice.ts';
import { type AnswerReader, TooLongError } from './answer-reader.ts';
import type { CallTarget } from './call-target.ts';
import { Exchange } from './connection.ts';
import type { ExchangePool } from './exchange-pool.ts';
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
  /** Whether the other server may be asked twice: if asking has no effect but the answer. */
  readonly mayRepeat: boolean;
  readonly signal: AbortNotice;
};

/** Of a body that is told in an error. */
const SHOWN_BYTES = 2048;

export async function postJson(connections: OutboundConnections, call: JsonCall): Promise<JsonObject> {
  const { target, timeoutSeconds, signal } = call;
  signal.throwIfAborted();
  let failed: unknown;
  try {
    const answer = await send(connections.exchangesWith(target), call);
    return readAnswer(answer.code, answer.contentType, answer.takeBody());
  } catch (err) {
    failed = err;
  }
  signal.throwIfAborted();
  if (failed instanceof CallError) throw failed;
  if (failed instanceof TooLongError) throw new CallError(failed.message, { cause: failed });
  const why = failed instanceof OverTimeError ? failed.message : networkErrorText(failed);
  throw new CallError(`Post "${target.url}?timeout=${timeoutSeconds}s": ${why}`, { cause: failed });
}

class OverTimeError extends Error {
  constructor() {
    super('context deadline exceeded');
  }
}

/** By callbacks down to the socket: signals and promises between cost more than all the rest of a call. */
function send(pool: ExchangePool, { target, body, timeoutSeconds, limitBytes, mayRepeat, signal }: JsonCall) {
  return new Promise<AnswerReader>((resolve, reject) => {
    const request = requestOf(target, timeoutSeconds, body);
    const stop = (why: Error) => {
      end();
      pool.giveUp(exchange);
      reject(why);
    };
    const timer = setTimeout(() => stop(new OverTimeError()), timeoutSeconds * 1000);
    const giveUp = () => stop(new Error('the caller has gone', { cause: signal.reason }));
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    };
    signal.addEventListener('abort', giveUp);
    const exchange = new Exchange(request, limitBytes, mayRepeat, (error, answer) => {
      end();
      if (answer) resolve(answer);
      else reject(error);
    });
    pool.run(exchange);
  });
}

type Head = { readonly timeoutSeconds: number; readonly text: string };

/** Of the last call to each target: the next is nearly always the same. */
const heads = new WeakMap<CallTarget, Head>();

/** In one piece, so that it is one record of TLS and one packet where that is possible. */
function requestOf(target: CallTarget, timeoutSeconds: number, body: Buffer): Buffer {
  let head = heads.get(target);
  if (head?.timeoutSeconds !== timeoutSeconds) {
    head = { timeoutSeconds, text: headOf(target, timeoutSeconds) };
    heads.set(target, head);
  }
  const text = `${head.text}${body.length}\r\n\r\n`;
  const request = Buffer.allocUnsafe(text.length + body.length);
  request.write(text, 0, 'latin1');
  body.copy(request, text.length);
  return request;
}

/** Up to the length of the body. */
function headOf({ origin, path }: CallTarget, timeoutSeconds: number): string {
  if (!/^\/[\u0021-\u007e\u0080-\u00ff]*$/.test(path)) throw new Error('invalid request path');
  return (
    `POST ${path}?timeout=${timeoutSeconds}s HTTP/1.1\r\nhost: ${new URL(origin).host}\r\ncontent-type: application/json\r\n` +
    'accept: application/json, */*\r\nuser-agent: kube-apiserver-admission\r\ncontent-length: '
  );
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
