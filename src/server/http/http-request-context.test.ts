/** What a request leaves behind when its client has gone before the answer. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { ChurningSet } from '../event-loop/churning-set.ts';
import { CpuAccount } from '../event-loop/run-queue.ts';
import { ByteBudget } from './body/byte-budget.ts';
import { makePair } from './connection/in-process.ts';
import { HttpRequestContext } from './http-request-context.ts';
import { Http1Wire } from './response/http1-wire.ts';
import { Scratch } from './response/scratch.ts';
import { TurnFlusher } from './response/turn-flusher.ts';
import type { SharedByRequests } from './shared-by-requests.ts';

const SHORT_KEPT = 2;

function serverOf(shared: SharedByRequests) {
  const server = createServer();
  return async (): Promise<HttpRequestContext> => {
    const [ours, theirs] = makePair();
    server.emit('connection', ours);
    theirs.write('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const { method, url, headers, rawHeaders } = request;
    const head = { method: method!, path: url!, queryText: '', headers, rawHeaders, remoteAddress: undefined };
    const info = () => ({ kind: 'other' }) as never;
    const context = new HttpRequestContext(shared, new Http1Wire(request, response), head, new CpuAccount(), info);
    theirs.destroy();
    await once(response, 'close');
    return context;
  };
}

it('an answer that nobody waits for any more takes no buffer that others may use', async () => {
  const taken: number[] = [];
  class Watched extends Scratch {
    override take(bytes: number): Buffer {
      taken.push(bytes);
      return super.take(bytes);
    }
  }
  const shared = {
    flusher: Object.assign(new TurnFlusher(), { scratch: new Watched() }),
    shortScratch: new Watched(1024, SHORT_KEPT),
    answers: new ByteBudget({ totalBytes: 1024 * 1024 }),
    open: new ChurningSet<HttpRequestContext>(),
    onEnd: () => {},
    isDraining: false,
  } as unknown as SharedByRequests;
  const goneBefore = serverOf(shared);
  const parts = [Buffer.alloc(100), Buffer.alloc(100)];
  (await goneBefore()).send(200, 'text/plain', parts);
  await (await goneBefore()).sendParts(200, 'text/plain', parts, 200);
  await (await goneBefore()).sendParts(200, 'text/plain', [Buffer.alloc(20_000)], 20_000);
  expect(taken).toEqual([]);
  expect([shared.open.size, shared.answers.heldBytes]).toEqual([0, 0]);
});
