/** The server's end of a call against a peer that takes its time, on real streams. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { frame } from '../etcd/grpc/frames.ts';
import { GrpcStream } from './grpc-stream.ts';
import { MemoryBudget } from './memory-budget.ts';
import { toFrontError } from './messages/front-error.ts';
import { LongMessage } from './messages/long-message.ts';

const KIBIBYTE = 1024;
const budget = new MemoryBudget(256 * KIBIBYTE);
let server: Http2Server;
let session: ClientHttp2Session;
let serve: (stream: GrpcStream) => Promise<void>;
let settled: Promise<unknown>;

beforeEach(async () => {
  server = createServer();
  server.on('stream', (stream, headers) => {
    const grpc = new GrpcStream(stream, headers, false, budget);
    settled = serve(grpc).then(
      () => grpc.end(),
      (err: unknown) => {
        const { code, message } = toFrontError(err);
        grpc.end(code, message);
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    settings: { initialWindowSize: 1000 },
  });
  session.on('error', () => {});
});
afterEach(() => {
  vi.useRealTimers();
  session.destroy();
  server.close();
});

const open = () => {
  const stream = session.request({ ':method': 'POST', ':path': '/any' });
  stream.on('error', () => {});
  return stream;
};
const closed = (stream: ReturnType<typeof open>) => new Promise((resolve) => stream.once('close', resolve));

it('what all have sent of their requests has a limit, and is given back', async () => {
  serve = async (stream) => void (await stream.message());
  const half = frame(Buffer.alloc(200 * KIBIBYTE)).subarray(0, 150 * KIBIBYTE);
  const first = open();
  first.write(half);
  await eventually(() => expect(budget.usedBytes >= half.length).toBe(true));
  const second = open();
  second.write(half);
  const [headers] = (await once(second, 'response')) as [Record<string, string>];
  expect(headers).toMatchObject({ 'grpc-status': '8', 'grpc-message': 'etcdserver: too many requests' });
  first.close();
  await eventually(() => expect(budget.usedBytes === 0).toBe(true));
});

it('a request that does not come is not waited for without end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const asked = new Promise<void>((resolve) => {
    serve = async (stream) => {
      resolve();
      await stream.message();
    };
  });
  const stream = open();
  stream.write(frame(Buffer.alloc(100)).subarray(0, 50));
  await asked;
  const end = closed(stream);
  vi.advanceTimersByTime(61_000);
  await end;
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
});

it('an answer that is not taken is not kept without end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const kv = { key: 'k', value: Buffer.alloc(1000), createRevision: 1, modRevision: 1, version: 1, lease: 0n };
  serve = async (stream) => {
    await stream.message();
    await stream.answer(await new LongMessage().pairs(2, Array(1000).fill(kv)));
  };
  const stream = open();
  stream.end(frame(Buffer.alloc(0)));
  await once(stream, 'response');
  const end = closed(stream);
  await eventually(() => expect(vi.getTimerCount() > 0).toBe(true));
  vi.advanceTimersByTime(61_000);
  await end;
  await settled;
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
});

it('those who wait to send make nothing until it is their turn, and have it in order', async () => {
  const made: number[] = [];
  const all = new Promise<void>((resolve) => {
    serve = async (stream) => {
      await stream.message();
      const sent = Array.from({ length: 20 }, (_, i) =>
        stream.send(() => {
          made.push(i);
          return [Buffer.alloc(30 * KIBIBYTE)];
        }),
      );
      resolve();
      await Promise.all(sent);
    };
  });
  const stream = open();
  stream.end(frame(Buffer.alloc(0)));
  await all;
  await once(stream, 'response');
  expect(made.length).toBeLessThan(5);
  stream.resume();
  await closed(stream);
  expect(made).toEqual(Array.from({ length: 20 }, (_, i) => i));
});
