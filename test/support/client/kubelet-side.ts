/**
 * An API server with a kubelet behind it, as far as streams of pods go: logs, `exec`, `attach` and `portforward` over WebSockets,
 * in the protocols `v5.channel.k8s.io` and `v4.channel.k8s.io`, spoken by a WebSocket library of others.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export type KubeletSide = AsyncDisposable & {
  readonly url: string;
  /** What was asked for, path and query. */
  readonly asked: URL[];
  /** Connections that are open. */
  readonly sockets: Set<WebSocket>;
  /** What a container has logged; `undefined` ends the log. */
  log(line: string | undefined): void;
};

/** What a program does: told its input, it answers on channels and ends with a code. */
type Program = (io: ProgramIo) => void;
type ProgramIo = {
  readonly command: readonly string[];
  readonly socket: WebSocket;
  write(channel: number, data: string | Buffer): void;
  exit(code: number): void;
  onInput(listener: (data: Buffer | undefined) => void): void;
  onResize(listener: (size: { Width: number; Height: number }) => void): void;
};

const programs: Record<string, Program> = {
  echo: ({ command, write, exit }) => {
    write(1, `${command.slice(1).join(' ')}\n`);
    exit(0);
  },
  cat: ({ write, exit, onInput }) => onInput((data) => (data ? write(1, data) : exit(0))),
  fail: ({ write, exit }) => {
    write(2, 'no such thing\n');
    exit(3);
  },
  flood: ({ write, exit, command }) => {
    for (let n = 0; n < Number(command[1]); n++) write(1 + (n % 2), Buffer.alloc(64 * 1024, n % 2 ? 'e' : 'o'));
    exit(0);
  },
  size: ({ write, exit, onResize }) =>
    onResize(({ Width, Height }) => {
      write(1, `${Width}x${Height}`);
      exit(0);
    }),
  /** The real one; the folder it is told to work in is one of this machine. */
  tar: ({ command, socket, write, exit, onInput }) => {
    const tar = spawn('tar', command.slice(1), { stdio: 'pipe' });
    tar.stdout.on('data', (data: Buffer) => write(1, data));
    tar.stderr.on('data', (data: Buffer) => write(2, data));
    tar.stdin.on('error', () => {}); // it has ended before its input
    onInput((data) => (data ? tar.stdin.write(data) : tar.stdin.end()));
    tar.on('close', (code) => exit(code ?? 1));
    socket.on('close', () => tar.kill());
  },
  crash: ({ socket }) => socket.terminate(),
  sleep: () => {},
};

export async function startKubeletSide({
  protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
} = {}): Promise<KubeletSide> {
  const asked: URL[] = [];
  const sockets = new Set<WebSocket>();
  const listeners = new Set<(line: string | undefined) => void>();
  const server = createServer((request, response) => {
    const url = urlOf(request);
    asked.push(url);
    if (!url.pathname.endsWith('/log')) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write('first\n\nthird, in tw');
    response.write('o parts');
    if (!url.searchParams.has('follow')) return void response.end();
    response.write('\n');
    const listener = (line: string | undefined) => (line === undefined ? response.end() : response.write(line));
    listeners.add(listener);
    response.once('close', () => listeners.delete(listener));
  });
  const hub = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => protocols.find((one) => offered.has(one)) ?? false,
  });
  server.on('upgrade', (request, socket, head) => {
    const url = urlOf(request);
    asked.push(url);
    if (url.pathname.includes('/forbidden/')) {
      const body = JSON.stringify({
        kind: 'Status',
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        message: 'not you',
      });
      socket.end(
        `HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return;
    }
    hub.handleUpgrade(request, socket, head, (connection) => {
      sockets.add(connection);
      connection.on('close', () => sockets.delete(connection)).on('error', () => {});
      if (url.pathname.endsWith('/portforward')) forward(connection, Number(url.searchParams.get('ports')));
      else run(connection, url.searchParams.getAll('command'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    sockets,
    log: (line) => {
      for (const listener of listeners) listener(line);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.terminate();
      server.close();
      server.closeAllConnections();
    },
  };
}

function urlOf(request: IncomingMessage): URL {
  return new URL(request.url ?? '/', 'http://kubelet');
}

function run(socket: WebSocket, command: readonly string[]): void {
  let input: (data: Buffer | undefined) => void = () => {};
  let resize: (size: { Width: number; Height: number }) => void = () => {};
  const write = (channel: number, data: string | Buffer) =>
    socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(data)]));
  const exit = (code: number) => {
    const causes = [{ reason: 'ExitCode', message: String(code) }];
    const failure = { status: 'Failure', reason: 'NonZeroExitCode', message: `exit code ${code}`, details: { causes } };
    write(3, JSON.stringify(code === 0 ? { status: 'Success' } : failure));
    socket.close(1000);
  };
  socket.on('message', (message: Buffer) => {
    const [channel] = message;
    const data = message.subarray(1);
    if (channel === 0) input(data);
    if (channel === 4) resize(JSON.parse(data.toString()));
    if (channel === 255 && data[0] === 0) input(undefined);
  });
  const program = programs[command[0] ?? 'cat'] ?? programs.sleep!;
  program({
    command,
    socket,
    write,
    exit,
    onInput: (listener) => {
      input = listener;
    },
    onResize: (listener) => {
      resize = listener;
    },
  });
}

/** Port 80 gives back what it gets, in capitals; nobody listens on any other. */
function forward(socket: WebSocket, port: number): void {
  const named = Buffer.from([port & 0xff, port >> 8]);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.from([channel]), named]));
  if (port !== 80) {
    socket.send(
      Buffer.concat([Buffer.from([1]), Buffer.from(`dial tcp4 127.0.0.1:${port}: connect: connection refused`)]),
    );
    socket.close();
    return;
  }
  socket.on('message', (message: Buffer) => {
    const text = message.subarray(1).toString();
    socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(text.toUpperCase())]));
    if (text.endsWith('bye')) socket.close();
  });
}
