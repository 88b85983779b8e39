/**
 * Head and body of an answer over HTTP/1.1 in one piece. Node gives them to the socket as two, and TLS copies several pieces into
 * fresh memory before it encrypts them; where the body lies in a lent buffer, there is room before it, and the head goes there.
 *
 * Always true: the bytes that leave, and their order, are those that Node would send. What is not exactly a head and the body that is being
 * ended, as behind an answer that still waits, or with a head that is too long, is left to Node.
 */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** What lies before the body in a lent buffer. */
export const HEAD_ROOM = 1024;

type Piece = { readonly chunk: unknown; readonly encoding: BufferEncoding };
type Done = (error?: Error | null) => void;

let lentNow: Buffer | undefined;
let bodyNow: Buffer | undefined;

/** Of a connection that speaks HTTP/1.1, once. */
export function joinHeads(socket: Socket): void {
  socket._writev = writeJoined;
}

/** Its head has been written, and not sent; `body` lies in `lent` from HEAD_ROOM on. */
export function endJoined(response: ServerResponse, body: Buffer, lent: Buffer): void {
  lentNow = lent;
  bodyNow = body;
  try {
    response.end(body);
  } finally {
    lentNow = undefined;
    bodyNow = undefined;
  }
}

function writeJoined(this: Socket, pieces: Piece[], done: Done): void {
  const whole = joined(pieces);
  if (whole) this._write(whole, 'buffer' as BufferEncoding, done);
  else Socket.prototype._writev!.call(this, pieces, done);
}

/** Behind the body Node writes an empty piece, to be told when all is sent. */
function joined(pieces: readonly Piece[]): Buffer | undefined {
  if (!lentNow || !bodyNow || pieces[1]?.chunk !== bodyNow) return undefined;
  for (let i = 2; i < pieces.length; i++) if (pieces[i]!.chunk !== '') return undefined;
  const { chunk: head, encoding } = pieces[0]!;
  if (typeof head !== 'string' || encoding !== 'latin1' || head.length > HEAD_ROOM) return undefined;
  const from = HEAD_ROOM - head.length;
  lentNow.write(head, from, 'latin1');
  return lentNow.subarray(from, HEAD_ROOM + bodyNow.length);
}
