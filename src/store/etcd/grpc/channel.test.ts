/** The channel against servers that misbehave on purpose, as a real etcd seldom does when asked to. */
import { getEventListeners, once } from 'node:events';
import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../api/index.ts';
import { Channel } from './channel.ts';
import { parseEndpoints } from './endpoint.ts';
import { frame } from './frames.ts';

type Handle = (stream: ServerHttp2Stream, call: number) => void;

async function listen(server: Server, sockets: Set<Socket>): Promise<{ url: string } & AsyncDisposable> {
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A server whose n-th call, from 0 on, is handled as told. */
async function serve(handle: Handle): Promise<{ url: string; sessions: ServerHttp2Session[] } & AsyncDisposable> {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  let calls = 0;
  server.on('session', (session) => {
    session.on('error', () => {});
    sessions.push(session);
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    handle(stream, calls++);
  });
  return { ...(await listen(server as unknown as Server, new Set())), sessions };
}

/** Accepts connections and never says a word: what a frozen process looks like. */
function serveSilence(): Promise<{ url: string } & AsyncDisposable> {
  return listen(
    createTcpServer((socket) => void socket.on('error', () => {}).resume()),
    new Set(),
  );
}

function answer(stream: ServerHttp2Stream, message: Uint8Array, status = '0', text = ''): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': text }));
  stream.end(frame(message));
}

function refuse(stream: ServerHttp2Stream, status: string, text: string): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': text };
  stream.respond(headers, { endStream: true });
}

function openChannel(...urls: string[]): Channel & Disposable {
  const channel = new Channel({
    ...{ endpoints: parseEndpoints(urls, undefined), tls: undefined, clock: systemClock },
    ...{ dialTimeoutMs: 100, keepAliveMs: 60_000, keepAliveTimeoutMs: 1000, streamWindowBytes: 8 * 1024 * 1024 },
  });
  return Object.assign(channel, { [Symbol.dispose]: () => channel.close() });
}

const request = Buffer.from('question');
const call = { method: '/test/Call', request, timeoutMs: 5000, signal: undefined };
const read = { ...call, isRead: true };
const write = { ...call, isRead: false };
const yes = Buffer.from('yes');

describe('Channel', () => {
  it('sends the request as one frame and answers the message that comes back', async () => {
    await using server = await serve((stream) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => answer(stream, Buffer.concat(chunks)));
    });
    using channel = openChannel(server.url);
    expect(await channel.call(read)).toEqual(frame(request));
  });

  it('takes an answer of 40 MB', async () => {
    const large = Buffer.alloc(40_000_000, 'x');
    await using server = await serve((stream) => answer(stream, large));
    using channel = openChannel(server.url);
    expect((await channel.call(read)).equals(large)).toBe(true);
  });

  it.each(['headers', 'trailers'])('finds the status in %s', async (where) => {
    await using server = await serve((stream) =>
      where === 'headers' ? refuse(stream, '3', 'bad%20key') : answer(stream, yes, '3', 'bad%20key'),
    );
    using channel = openChannel(server.url);
    await expect(channel.call(write)).rejects.toMatchObject({ code: 3, message: 'bad key', wasSent: true });
  });

  it('says so when the peer does not speak gRPC', async () => {
    await using server = await serve((stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/html' });
      stream.end('<h1>Not here</h1>');
    });
    using channel = openChannel(server.url);
    await expect(channel.call(write)).rejects.toMatchObject({ code: 12, message: expect.stringContaining('404') });
  });

  it('says so when the answer ends in the middle of a message', async () => {
    await using server = await serve((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(frame(yes).subarray(0, 6));
    });
    using channel = openChannel(server.url);
    await expect(channel.call(write)).rejects.toMatchObject({ code: 13 });
  });

  it('sends a write again that the server refused to look at (REFUSED_STREAM)', async () => {
    await using server = await serve((stream, n) =>
      n < 2 ? stream.close(constants.NGHTTP2_REFUSED_STREAM) : answer(stream, yes),
    );
    using channel = openChannel(server.url);
    expect(await channel.call(write)).toEqual(yes);
  });

  it.each([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_ENHANCE_YOUR_CALM])(
    'sends a write again that a GOAWAY with code %i left out',
    async (code) => {
      await using server = await serve((stream, n) => {
        if (n === 1) stream.session!.goaway(code, 1);
        else answer(stream, yes);
      });
      using channel = openChannel(server.url);
      await channel.call(write);
      expect(await channel.call(write)).toEqual(yes);
      expect(server.sessions).toHaveLength(2);
    },
  );

  it('does not send a write again that a GOAWAY did not leave out', async () => {
    let calls = 0;
    await using server = await serve((stream) => {
      calls++;
      stream.session!.goaway(constants.NGHTTP2_INTERNAL_ERROR, stream.id!);
    });
    using channel = openChannel(server.url);
    await expect(channel.call(write)).rejects.toMatchObject({ code: 14, wasSent: true });
    expect(calls).toBe(1);
  });

  it('lets calls under way finish after a GOAWAY, and takes another connection for the next', async () => {
    const streams: ServerHttp2Stream[] = [];
    await using server = await serve((stream, n) => {
      if (n > 0) return answer(stream, yes);
      streams.push(stream);
      stream.session!.goaway(constants.NGHTTP2_NO_ERROR, stream.id!);
    });
    using channel = openChannel(server.url);
    const first = channel.call(write);
    while (server.sessions.length < 2) await channel.call(read); // until the GOAWAY has come
    answer(streams[0]!, Buffer.from('late'));
    expect(String(await first)).toBe('late');
  });

  it.each<[claim: string, fail: Handle]>([
    ['whose stream is reset', (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ['whose connection is cut', (stream) => stream.session!.destroy()],
    ['that the member cannot serve', (stream) => refuse(stream, '14', 'etcdserver: leader changed')],
  ])('tries a read again and not a write %s', async (_claim, fail) => {
    let calls = 0;
    await using server = await serve((stream, n) => {
      calls++;
      if (n < 2) fail(stream, n);
      else answer(stream, yes);
    });
    using channel = openChannel(server.url);
    await expect(channel.call(write)).rejects.toMatchObject({ code: 14, wasSent: true });
    expect(calls).toBe(1);
    expect(await channel.call(read)).toEqual(yes);
    expect(calls).toBe(3);
  });

  it('goes past members that are gone and members that are frozen, also with a write', async () => {
    const gone = await serve(() => {});
    await gone[Symbol.asyncDispose]();
    await using frozen = await serveSilence();
    await using server = await serve((stream) => answer(stream, yes));
    using channel = openChannel(gone.url, frozen.url, server.url);
    expect(await channel.call(write)).toEqual(yes);
  });

  it('names every member when none can be reached, and says that nothing was sent', async () => {
    const gone = await serve(() => {});
    await gone[Symbol.asyncDispose]();
    await using frozen = await serveSilence();
    using channel = openChannel(gone.url, frozen.url);
    const error = await channel.call({ ...write, timeoutMs: 1 }).catch((err: unknown) => err as Error);
    expect(error).toMatchObject({ code: 14, wasSent: false });
    for (const url of [gone.url, frozen.url]) expect((error as Error).message).toContain(url);
  });

  it('gives up at its deadline, and cancels the call at the server', async () => {
    let cancelled: Promise<unknown> | undefined;
    await using server = await serve((stream) => {
      cancelled = once(stream, 'close').then(() => stream.rstCode);
    });
    using channel = openChannel(server.url);
    await expect(channel.call({ ...read, timeoutMs: 50 })).rejects.toMatchObject({ code: 4, wasSent: true });
    expect(await cancelled).toBe(constants.NGHTTP2_CANCEL);
  });

  it('ends with the reason of its signal, cancels the call, and leaves no listener on the signal', async () => {
    const cancelled: Promise<unknown>[] = [];
    const stop = new AbortController();
    await using server = await serve((stream) => {
      cancelled.push(once(stream, 'close').then(() => stream.rstCode));
      if (cancelled.length === 20) stop.abort(new Error('enough'));
    });
    using channel = openChannel(server.url);
    const calls = Array.from({ length: 20 }, () => channel.call({ ...read, signal: stop.signal }));
    const settled = await Promise.allSettled(calls);
    for (const result of settled) expect(result).toMatchObject({ status: 'rejected', reason: { message: 'enough' } });
    expect(new Set(await Promise.all(cancelled))).toEqual(new Set([constants.NGHTTP2_CANCEL]));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  it('leaves no listener on the signal of calls that were answered', async () => {
    await using server = await serve((stream, n) => (n % 2 === 0 ? refuse(stream, '14', 'busy') : answer(stream, yes)));
    using channel = openChannel(server.url);
    const { signal } = new AbortController();
    for (let i = 0; i < 3; i++) await channel.call({ ...read, signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('ends what waits with Closed when it closes: a call, a dial, a pause between attempts', async () => {
    await using frozen = await serveSilence();
    await using busy = await serve((stream) => refuse(stream, '14', 'busy'));
    let reached = () => {};
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    await using server = await serve(() => reached());
    const channels = [frozen, busy, server].map(({ url }) => openChannel(url));
    const calls = channels.map((channel) => channel.call(read));
    const settled = Promise.allSettled(calls);
    await isReached;
    for (const channel of channels) channel.close();
    for (const result of await settled)
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'Closed' } });
    await expect(channels[0]!.call(read)).rejects.toMatchObject({ code: 'Closed' });
  });
});
