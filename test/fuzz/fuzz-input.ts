/**
 * One thing to send, as data that can be printed, kept and sent again: a request, raw bytes on a connection of HTTP/1.1 or
 * HTTP/2, or a gRPC call to the etcd front. Made from a seed and a number alone.
 */
import type { Dice } from './dice.ts';

export type FuzzInput =
  | {
      readonly kind: 'request';
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      /** base64 */
      readonly body?: string;
    }
  | { readonly kind: 'http1' | 'http2'; readonly bytes: string }
  | { readonly kind: 'grpc'; readonly method: string; readonly bytes: string };

export type MakeInput = (dice: Dice, index: number) => FuzzInput;

export function base64(bytes: Buffer | string): string {
  return Buffer.from(bytes).toString('base64');
}
