/**
 * What `etcd` of `longwatch envtest-assets` runs: it says that it is healthy, and where the data is to lie. The data
 * itself is kept by the kube-apiserver that is pointed here, in its own process, so this one stays small and starts at
 * once. Nobody but that kube-apiserver finds an etcd here.
 *
 * Always true: it answers on every address it was told, or ends with code 1 and a sentence; SIGTERM and SIGINT end it.
 */
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { splitFlags } from './go-flags.ts';

/** Where kube-apiserver asks what the data folder is. */
export const STORE_PATH = '/longwatch/store';

export type StandInStore = { readonly dataDir: string; readonly fsync: boolean };

const SWITCHES = ['unsafe-no-fsync'];
/** Of a request. */
const LIMIT_HEAD = 16 * 1024;

export async function runEtcd(given: readonly string[]): Promise<void> {
  const flags = new Map<string, string>();
  for (const { name, value } of splitFlags(given, (name) => SWITCHES.includes(name))) flags.set(name, value);
  const store: StandInStore = {
    dataDir: resolve(flags.get('data-dir') ?? 'default.etcd'),
    fsync: flags.get('unsafe-no-fsync') !== 'true',
  };
  const urls = (flags.get('listen-client-urls') ?? 'http://localhost:2379').split(',');
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
  await Promise.all(urls.map((url) => listen(new URL(url), store)));
}

/** By hand, on a socket: `node:http` would take longer to load than all the rest. */
function listen(url: URL, store: StandInStore): Promise<void> {
  if (url.protocol !== 'http:') throw new Error(`Cannot listen on "${url.origin}": only http is served here`);
  const answers: Record<string, unknown> = { '/health': { health: 'true', reason: '' }, [STORE_PATH]: store };
  const server = createServer((socket) => {
    let head = '';
    socket.setEncoding('latin1').on('error', () => socket.destroy());
    socket.on('data', (text) => {
      head += text;
      if (head.length > LIMIT_HEAD) socket.destroy();
      else if (head.includes('\r\n\r\n')) socket.end(answerTo(head, answers));
    });
  });
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(Number(url.port || 80), url.hostname.replace(/^\[|\]$/g, ''), done);
  });
}

/** The whole answer; with it the connection ends. */
function answerTo(head: string, answers: Record<string, unknown>): string {
  const [, path = ''] = head.split(' ', 2);
  const answer = Object.hasOwn(answers, path) ? JSON.stringify(answers[path]) : '';
  const fields = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(answer)}`,
    'Connection: close',
  ];
  return [`HTTP/1.1 ${answer ? '200 OK' : '404 Not Found'}`, ...fields, '', answer].join('\r\n');
}
