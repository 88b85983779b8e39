/**
 * Answers that a server of ill will could give to the client: bodies, heads, watch streams, continue tokens, refusals,
 * discovery documents; and kubeconfigs from whoever sends one.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { ClientCase, Hostility } from '../client-target.ts';
import { firstOf } from '../first-of.ts';
import { printable, repeated, textShapes, times } from './text-shapes.ts';

const LONGEST = 8 * 1024 * 1024;
/** One object: more than any server can store. */
const LARGEST_OBJECT = 2 * 1024 * 1024;
const LONGEST_HEADER = 15_000;

type Kind = 'list' | 'listAll' | 'get' | 'create' | 'watch' | 'informer' | 'discovery' | 'exec';

function answered(
  kind: Kind,
  name: string,
  covers: string,
  limit: number,
  answer: (size: number) => Hostility,
): ClientCase {
  return {
    name: `${kind}: ${name}`,
    covers: [covers],
    limit,
    play: (target, size) => target.play(kind, answer(size)),
  };
}

/** A whole body with a good head. */
function body(make: (size: number) => string, status = '200 OK', headers = ''): (size: number) => Hostility {
  return (size) => {
    const bytes = Buffer.from(make(size));
    return (socket) => {
      socket.write(head(status, `Content-Length: ${bytes.length}\r\n${headers}`));
      return send(socket, bytes);
    };
  };
}

/** Lines of a watch, all at once. */
function stream(make: (size: number) => string): (size: number) => Hostility {
  return (size) => {
    const bytes = Buffer.from(make(size));
    return (socket) => {
      socket.write(head('200 OK', 'Connection: close\r\n'));
      return send(socket, bytes);
    };
  };
}

function head(status: string, headers: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${headers}\r\n`;
}

async function send(socket: Socket, bytes: Buffer): Promise<number> {
  if (!socket.write(bytes)) await firstOf(socket, 'drain', 'close');
  return bytes.length;
}

const object = (i: number, more = '') =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n${i}","namespace":"default","uid":"u${i}","resourceVersion":"${i + 1}"${more}}}`;
const event = (i: number, type = 'ADDED') => `{"type":"${type}","object":${object(i)}}\n`;
const list = (items: string, metadata = '"resourceVersion":"1"') =>
  `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{${metadata}},"items":[${items}]}`;

const lists = [
  answered(
    'list',
    'many items',
    'client:list',
    LONGEST,
    body((size) => list(repeated((i) => `${object(i)},`, size).slice(0, -1))),
  ),
  answered(
    'list',
    'deep items',
    'client:list',
    1_000_000,
    body((size) => list(`${'['.repeat(size / 2)}${']'.repeat(size / 2)}`)),
  ),
  answered(
    'list',
    'one long text',
    'client:list',
    LONGEST,
    body((size) => `"${'a'.repeat(size)}"`),
  ),
  answered('list', 'many items, compressed', 'client:header:content-encoding', LONGEST, (size) => {
    const packed = gzipSync(list(repeated((i) => `${object(i)},`, size).slice(0, -1)), { level: 1 });
    return async (socket) => {
      socket.write(head('200 OK', `Content-Length: ${packed.length}\r\nContent-Encoding: gzip\r\n`));
      await send(socket, packed);
      return size; // what it comes to
    };
  }),
  answered('list', 'a body in chunks of one byte', 'client:chunks', 200_000, (size) => async (socket) => {
    socket.write(head('200 OK', 'Transfer-Encoding: chunked\r\n'));
    return send(socket, Buffer.from(`${'1\r\n \r\n'.repeat(size)}0\r\n\r\n`));
  }),
  answered('list', 'a body in packets of one byte', 'client:chunks', 5_000, (size) => async (socket) => {
    socket.setNoDelay(true);
    socket.write(head('200 OK', 'Connection: close\r\n'));
    for (let i = 0; i < size && !socket.destroyed; i++) {
      socket.write(' ');
      await new Promise((resolve) => setImmediate(resolve));
    }
    return size;
  }),
  answered('listAll', 'long continue tokens', 'client:continue', 500_000, (size) => {
    let pages = 0;
    return (socket, request) => {
      const more =
        ++pages < 3 && !request.url!.includes('none') ? `,"continue":"${'c'.repeat(Math.min(size, 12_000))}"` : '';
      const bytes = Buffer.from(list(object(pages), `"resourceVersion":"1"${more},"x":"${'y'.repeat(size)}"`));
      socket.write(head('200 OK', `Content-Length: ${bytes.length}\r\nConnection: close\r\n`));
      return send(socket, bytes);
    };
  }),
  answered(
    'get',
    'one large object',
    'client:get',
    LARGEST_OBJECT,
    body(
      (size) =>
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{${repeated((i) => `"k${i}":"v",`, size)}"z":"v"}}`,
    ),
  ),
  answered(
    'get',
    'no JSON',
    'client:get',
    LONGEST,
    body((size) => 'x'.repeat(size)),
  ),
];

const statusOf = (more: string) =>
  `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":422,${more}}`;

const refusals = [
  answered(
    'create',
    'a refusal with many causes',
    'client:status',
    LONGEST,
    body(
      (size) =>
        statusOf(
          `"details":{"causes":[${repeated((i) => `{"reason":"r${i}","message":"m","field":"f"},`, size).slice(0, -1)}]}`,
        ),
      '422 No',
    ),
  ),
  answered(
    'create',
    'a refusal with a long message',
    'client:status',
    LONGEST,
    body((size) => statusOf(`"message":"${'m'.repeat(size)}"`), '422 No'),
  ),
  answered(
    'create',
    'a refusal that is text',
    'client:status',
    LONGEST,
    body((size) => ' x'.repeat(size / 2), '500 No'),
  ),
  answered(
    'create',
    'a refusal of spaces',
    'client:status',
    LONGEST,
    body((size) => `${' '.repeat(size)}x`, '500 No'),
  ),
  ...Object.entries(textShapes).map(([shape, make]) =>
    answered('create', `retry after ${shape}`, 'client:header:retry-after', LONGEST_HEADER, (size) =>
      body(() => '{}', '429 No', `Retry-After: ${printable(make(size))}\r\n`)(size),
    ),
  ),
];

const heads = [
  ...Object.entries(textShapes).flatMap(([shape, make]) => [
    answered(
      'get',
      `a content type of ${shape}`,
      'client:header:content-type',
      LONGEST_HEADER,
      (size) => (socket) =>
        send(
          socket,
          Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: ${printable(make(size))}\r\nContent-Length: 2\r\n\r\n{}`),
        ),
    ),
    answered('get', `a content encoding of ${shape}`, 'client:header:content-encoding', LONGEST_HEADER, (size) =>
      body(() => object(1), '200 OK', `Content-Encoding: ${printable(make(size))}\r\n`)(size),
    ),
    answered('get', `a warning of ${shape}`, 'client:header:warning', LONGEST_HEADER, (size) =>
      body(() => object(1), '200 OK', `Warning: 299 - "${printable(make(size))}\r\n`)(size),
    ),
  ]),
  answered('get', 'many warnings', 'client:header:warning', LONGEST_HEADER, (size) =>
    body(() => object(1), '200 OK', `Warning: ${repeated(() => '299 - "a", ', size).slice(0, -2)}\r\n`)(size),
  ),
  answered('get', 'warnings that never end', 'client:header:warning', LONGEST_HEADER, (size) =>
    body(() => object(1), '200 OK', `Warning: ${repeated(() => '299 - "\\\\', size)}\r\n`)(size),
  ),
  ...Object.entries(textShapes).map(([shape, make]) =>
    informerHead(`a history of ${shape}`, (size) => `Longwatch-History: ${printable(make(size))}\r\n`),
  ),
  answered('get', 'many headers', 'client:header:*', 1_000, (size) =>
    body(() => object(1), '200 OK', times(size, (i) => `X-${i}: v\r\n`).join(''))(size),
  ),
];

const PROTOCOL = 'v5.channel.k8s.io';

/** An upgrade to WebSockets as RFC 6455 wants it, with what a case makes of it. */
function upgraded(request: IncomingMessage, protocol = PROTOCOL, accept = acceptOf(request)): string {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  return `HTTP/1.1 101 Yes\r\n${upgrade}Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`;
}

function acceptOf({ headers }: IncomingMessage): string {
  const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  return createHash('sha1').update(`${headers['sec-websocket-key']}${guid}`).digest('base64');
}

/** Frames of one byte of output each; `first` is the first byte of a frame: last or not, and what it is. */
function frames(size: number, first: number): Buffer {
  return Buffer.alloc(size, Buffer.from([first, 2, 1, 0x78]));
}

const sockets = [
  ...Object.entries(textShapes).flatMap(([shape, make]) => [
    answered(
      'exec',
      `a protocol of ${shape}`,
      'client:header:sec-websocket-protocol',
      LONGEST_HEADER,
      (size) => (socket, request) => send(socket, Buffer.from(upgraded(request, printable(make(size))))),
    ),
    answered(
      'exec',
      `a key of ${shape}`,
      'client:header:sec-websocket-accept',
      LONGEST_HEADER,
      (size) => (socket, request) => send(socket, Buffer.from(upgraded(request, PROTOCOL, printable(make(size))))),
    ),
  ]),
  ...Object.entries({ frames: 0x82, 'frames that never end a message': 0x02, pings: 0x89 }).map(([name, first]) =>
    answered('exec', `many ${name}`, 'client:websocket', LONGEST / 8, (size) => (socket, request) => {
      socket.write(upgraded(request));
      return send(socket, frames(size, first));
    }),
  ),
];

const watches = [
  answered(
    'watch',
    'many events',
    'client:watch',
    LONGEST,
    stream((size) => repeated((i) => event(i), size)),
  ),
  answered(
    'watch',
    'many bookmarks',
    'client:watch',
    LONGEST,
    stream((size) => repeated((i) => event(i, 'BOOKMARK'), size)),
  ),
  answered(
    'watch',
    'empty lines',
    'client:watch',
    LONGEST,
    stream((size) => '\n'.repeat(size)),
  ),
  answered(
    'watch',
    'lines of spaces',
    'client:watch',
    LONGEST,
    stream((size) => `${' '.repeat(size)}\n`),
  ),
  answered(
    'watch',
    'a line without an end',
    'client:watch',
    LONGEST,
    stream((size) => 'x'.repeat(size)),
  ),
  answered(
    'watch',
    'events of unknown types',
    'client:watch',
    LONGEST,
    stream((size) => repeated((i) => event(i, 'OTHER'), size)),
  ),
  answered(
    'watch',
    'one large event',
    'client:watch',
    LARGEST_OBJECT,
    stream(
      (size) =>
        `{"type":"ADDED","object":${object(1, `,"labels":{${repeated((i) => `"l${i}":"v",`, size)}"z":"v"}`)}}\n`,
    ),
  ),
  answered('watch', 'a line in packets of one byte', 'client:watch', 5_000, (size) => async (socket) => {
    socket.setNoDelay(true);
    socket.write(head('200 OK', 'Connection: close\r\n'));
    for (let i = 0; i < size && !socket.destroyed; i++) {
      socket.write('x');
      await new Promise((resolve) => setImmediate(resolve));
    }
    return size;
  }),
  answered(
    'watch',
    'an error with a large status',
    'client:watch',
    LONGEST,
    stream((size) => `{"type":"ERROR","object":${statusOf(`"message":"${'m'.repeat(size)}"`)}}\n`),
  ),
  informer('many objects', (size) => repeated((i) => event(i), size)),
  informer('one object again and again', (size) => repeated(() => event(1, 'MODIFIED'), size)),
  informer(
    'labels that never end',
    (size) => `{"type":"ADDED","object":${object(1, `,"labels":{${repeated((i) => `"l${i}":"v",`, size)}"z":"v"`)}}\n`,
    LARGEST_OBJECT,
  ),
  informer(
    'metadata in another order',
    (size) =>
      `{"type":"ADDED","object":{"metadata":{${repeated((i) => `"f${i}":1,`, size)}"name":"a","uid":"u","resourceVersion":"2"},"kind":"ConfigMap","apiVersion":"v1"}}\n`,
    LARGEST_OBJECT,
  ),
  informer(
    'a name that never ends',
    (size) => `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${'a'.repeat(size)}`,
  ),
];

/** Lists are empty; what comes by watch is the case. */
function informer(name: string, make: (size: number) => string, limit: number = LONGEST): ClientCase {
  return answered('informer', name, 'client:informer', limit, (size) => {
    const bytes = Buffer.from(`${make(size)}\n${endOfInitialEvents}`);
    let isServed = false;
    return (socket, request) => {
      if (!request.url!.includes('watch=')) return body(() => list(''))(0)(socket, request);
      socket.write(head('200 OK', 'Connection: close\r\n'));
      if (isServed) return send(socket, Buffer.from(endOfInitialEvents));
      isServed = true;
      return send(socket, bytes);
    };
  });
}

/** Everything is answered well, with one header more. */
function informerHead(name: string, header: (size: number) => string): ClientCase {
  return answered('informer', name, 'client:header:longwatch-history', LONGEST_HEADER, (size) => (socket, request) => {
    const isWatch = request.url!.includes('watch=');
    socket.write(head('200 OK', `Connection: close\r\n${header(size)}`));
    return send(socket, Buffer.from(isWatch ? endOfInitialEvents : list('')));
  });
}

const endOfInitialEvents = `{"type":"BOOKMARK","object":${object(9, ',"annotations":{"k8s.io/initial-events-end":"true"}')}}\n`;

const discovery = [
  answered(
    'discovery',
    'many groups',
    'client:discovery',
    LONGEST / 4,
    body(
      (size) =>
        `{"kind":"APIGroupList","groups":[${repeated((i) => `{"name":"g${i}","versions":[{"groupVersion":"g${i}/v1","version":"v1"}]},`, Math.min(size, 4_000)).slice(0, -1)}],"x":"${'y'.repeat(size)}"}`,
    ),
  ),
  answered(
    'discovery',
    'many aggregated resources',
    'client:discovery',
    LONGEST / 4,
    body(
      (size) =>
        `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[${repeated((i) => `{"resource":"r${i}","responseKind":{"group":"g","version":"v1","kind":"K${i}"},"scope":"Cluster","verbs":["get"]},`, size).slice(0, -1)}]}]}]}`,
    ),
  ),
];

const config = (name: string, make: (size: number) => string, limit = 1_000_000): ClientCase => ({
  name: `kubeconfig: ${name}`,
  covers: ['client:kubeconfig'],
  limit,
  play: (target, size) => target.readConfig(make(size)),
});
const whole = (more: string) =>
  `apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: a, user: a}\nclusters:\n- name: a\n  cluster: {server: "http://a"}\nusers:\n- name: a\n  user: {token: t}\n${more}`;

const configs = [
  config(
    'many contexts',
    (size) =>
      whole('').replace(
        'contexts:\n',
        `contexts:\n${repeated((i) => `- {name: c${i}, context: {cluster: a}}\n`, size)}`,
      ),
    300_000,
  ),
  config('aliases', (size) => whole(`x: &a [1]\ny: [${'*a, '.repeat(size / 4)}]\n`), 300_000),
  config(
    'aliases of aliases',
    (size) => whole(`a0: &a0 [x]\n${repeated((i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`, size)}`),
    300_000,
  ),
  config('deep flows', (size) => `a: ${'['.repeat(size)}`),
  config('duplicate keys', (size) => whole('a: 1\n'.repeat(size / 5)), 300_000),
  config('spaces', (size) => whole(`a: 1\na${' '.repeat(size)}: 2\n`)),
  config('a long server', (size) => whole('').replace('http://a', `http://a${'/'.repeat(size)}x`)),
  config('a server of slashes', (size) => whole('').replace('http://a', `http://a${'/'.repeat(size)}`)),
  config('a long token', (size) => whole('').replace('token: t', `token: ${'t'.repeat(size)}`)),
  config('a certificate of spaces', (size) =>
    whole('').replace('server:', `certificate-authority-data: "${'A '.repeat(size / 2)}", server:`),
  ),
];

export const clientCases: readonly ClientCase[] = [
  ...lists,
  ...refusals,
  ...heads,
  ...sockets,
  ...watches,
  ...discovery,
  ...configs,
];
