/** What a request leaves behind when its client has gone before the answer. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import type { Authorizer } from '../auth/authorizer.ts';
import { ChurningSet } from '../event-loop/churning-set.ts';
import { CpuAccount } from '../event-loop/run-queue.ts';
import type { FlowGate } from '../flow-control/flow-gate.ts';
import { ByteBudget } from './body/byte-budget.ts';
import { RequestRejected } from './body/request-body.ts';
import { makePair } from './connection/in-process.ts';
import { HandlerChain } from './handler-chain.ts';
import { HttpRequestContext } from './http-request-context.ts';
import { Http1Wire } from './response/http1-wire.ts';
import { Scratch } from './response/scratch.ts';
import { TurnFlusher } from './response/turn-flusher.ts';
import type { RequestHead, SharedByRequests } from './shared-by-requests.ts';

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

it('a request whose client left while it was asked who it is comes to no handler, also where it needs no seat', async () => {
  const goneBefore = serverOf({
    open: new ChurningSet<HttpRequestContext>(),
    onEnd: () => {},
    isDraining: false,
  } as unknown as SharedByRequests);
  const handled: string[] = [];
  const chain = new HandlerChain({
    authenticate: async () => ({ username: 'a', groups: [] }),
    authorizer: { authorize: () => ({ allowed: true }) } as unknown as Authorizer,
    gate: { ticketFor: () => undefined } as unknown as FlowGate,
    handle: ({ path }) => void handled.push(path),
    observer: undefined,
    accessObserver: undefined,
    requestTimeoutMs: 1000,
    isDraining: () => false,
    sendsRetryAfter: false,
  });
  const context = await goneBefore();
  const head = { path: '/a', queryText: '', rawHeaders: [] } as unknown as RequestHead;
  await expect(chain.run(context, head, () => undefined)).rejects.toThrow(RequestRejected);
  expect(handled).toEqual([]);
});

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
    shortScratch: new Watched(2048, SHORT_KEPT),
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
