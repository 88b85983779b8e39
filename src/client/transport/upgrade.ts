/**
 * A request whose connection becomes a stream of both directions, if the server agrees (101). If it does not, its answer
 * is an answer like any other: a refusal has its Status.
 */

import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';
import type { Headers } from './transport-options.ts';

export type UpgradeAnswer = {
  readonly statusCode: number;
  readonly headers: Headers;
  /** Of a refusal; at most so much of it as a Status can be. */
  readonly body: Readable;
  /** Undefined: it was refused. */
  readonly socket: Duplex | undefined;
};

const LIMIT_REFUSAL_BYTES = 1024 * 1024;

export function openUpgrade(
  dispatcher: Dispatcher,
  request: Pick<Dispatcher.DispatchOptions, 'path' | 'headers'>,
  protocol: string,
  signal: AbortSignal,
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    let abort = (_reason: Error) => {};
    const onAbort = () => abort(signal.reason instanceof Error ? signal.reason : new Error('it was aborted'));
    const settled = () => signal.removeEventListener('abort', onAbort);
    let refusal: { statusCode: number; headers: Headers; body: GatheredBytes } | undefined;
    signal.addEventListener('abort', onAbort, { once: true });
    dispatcher.dispatch(
      { ...request, method: 'GET', upgrade: protocol },
      {
        onRequestStart: (controller) => {
          abort = (reason) => controller.abort(reason);
          if (signal.aborted) onAbort();
        },
        onRequestUpgrade: (_controller, statusCode, headers, socket) => {
          settled();
          resolve({ statusCode, headers, body: Readable.from([]), socket });
        },
        onResponseStart: (_controller, statusCode, headers) => {
          refusal = { statusCode, headers, body: new GatheredBytes(LIMIT_REFUSAL_BYTES) };
        },
        onResponseData: (controller, chunk) => {
          if (!refusal) return;
          if (!refusal.body.add(chunk)) controller.abort(new Error('the refusal is too long'));
        },
        onResponseEnd: () => {
          settled();
          const { statusCode = 0, headers = {}, body } = refusal ?? {};
          resolve({
            statusCode,
            headers,
            body: Readable.from(body ? [Buffer.from(body.take())] : []),
            socket: undefined,
          });
        },
        onResponseError: (_controller, error) => {
          settled();
          reject(error);
        },
      },
    );
  });
}
