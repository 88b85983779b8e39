/** Logs, programs and ports of pods, against a server that plays the kubelet's side with a WebSocket library of others. */
import { getEventListeners, once } from 'node:events';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterAccess, KubeClient } from '../../../src/client/index.ts';
import { type PodClient, podsOf } from '../../../src/client/pods.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { type KubeletSide, startKubeletSide } from '../../support/client/kubelet-side.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

let kubelet: KubeletSide;
let client: KubeClient;
let inside: PodClient;
const accessOf = (url: string): ClusterAccess => ({ server: new URL(url), namespace: 'default' });

beforeAll(async () => {
  kubelet = await startKubeletSide();
  client = new KubeClient(accessOf(kubelet.url));
  inside = podsOf(client);
});
afterAll(async () => {
  await client?.close();
  await kubelet?.[Symbol.asyncDispose]();
});

it('a log comes line by line, empty ones and the unfinished last one too, by what was asked for', async () => {
  const lines: string[] = [];
  const options = { container: 'c', previous: true, since: 60, tailLines: 5, timestamps: true };
  for await (const line of inside.logs('web', options)) lines.push(line);
  expect(lines).toEqual(['first', '', 'third, in two parts']);
  expect(`${kubelet.asked.at(-1)!.pathname}${kubelet.asked.at(-1)!.search}`).toBe(
    '/api/v1/namespaces/default/pods/web/log?container=c&previous=true&sinceSeconds=60&tailLines=5&timestamps=true',
  );
});

it('a log is followed until it ends, or until nobody reads any more', async () => {
  const lines: string[] = [];
  for await (const line of inside.logs('web', { follow: true, since: new Date('2030-01-01T00:00:00Z') })) {
    lines.push(line);
    if (line === 'third, in two parts') kubelet.log('fourth\n');
    if (line === 'fourth') kubelet.log(undefined);
  }
  expect(lines.slice(3)).toEqual(['fourth']);
  expect(kubelet.asked.at(-1)!.searchParams.get('sinceTime')).toBe('2030-01-01T00:00:00.000Z');
  for await (const line of inside.logs('web', { follow: true })) if (line === '') break;
});

it('a program is run to its end: both outputs, its input, its exit code', async () => {
  await expect(inside.run('web', ['echo', 'a', 'b c'])).resolves.toEqual({ code: 0, stdout: 'a b c\n', stderr: '' });
  await expect(inside.run('web', ['fail'])).resolves.toEqual({ code: 3, stdout: '', stderr: 'no such thing\n' });
  const long = 'x'.repeat(300_000);
  await expect(inside.run('web', ['cat'], { stdin: long })).resolves.toEqual({ code: 0, stdout: long, stderr: '' });
  const flood = await inside.run('web', ['flood', '40']);
  expect([flood.stdout.length, flood.stderr.length]).toEqual([20 * 65536, 20 * 65536]);
  await expect(inside.run('web', ['flood', '4'], { limitBytes: 100_000 })).rejects.toThrow(
    'over 100000 bytes of output',
  );
});

it('a terminal is resized; what is attached is heard; a signal ends it with its reason', async () => {
  await using shell = await inside.exec('web', ['size'], { tty: true, stdin: true });
  await shell.resize(80, 24);
  expect(await text(shell.stdout)).toBe('80x24');
  expect(await shell.exited).toBe(0);
  expect(kubelet.asked.at(-1)!.search).toBe('?command=size&stdin=true&stdout=true&tty=true');
  const stop = new AbortController();
  const attached = await inside.attach('web', { stdin: true, signal: stop.signal });
  attached.stdin.write('hello');
  for await (const chunk of attached.stdout) {
    expect(chunk.toString()).toBe('hello');
    break;
  }
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(attached.exited).rejects.toBe(reason);
  await until(() => kubelet.sockets.size === 0);
});

it('a program can be left while its output lies there unread', async () => {
  const flood = await inside.exec('web', ['flood', '40']);
  await once(flood.stdout, 'readable');
  await flood.close();
  await expect(flood.exited).rejects.toThrow('the connection was closed before');
});

it('a refusal is the Status of the server, a broken connection is told as that', async () => {
  await expect(inside.exec('web', ['echo'], { namespace: 'forbidden' })).rejects.toMatchObject({
    name: 'ApiError',
    reason: 'Forbidden',
    message: 'not you',
  });
  const broken = await inside.exec('web', ['crash']);
  await expect(broken.exited).rejects.toMatchObject({ name: 'TransportError', phase: 'body' });
  await using old = await startKubeletSide({ protocols: ['v4.channel.k8s.io'] });
  await using oldClient = new KubeClient(accessOf(old.url));
  await expect(podsOf(oldClient).run('web', ['echo', 'a'])).resolves.toMatchObject({ stdout: 'a\n' });
  await using cat = await podsOf(oldClient).exec('web', ['cat'], { stdin: true });
  const ended = new Promise((resolve) => cat.stdin.once('error', resolve));
  cat.stdin.end();
  await expect(ended).resolves.toMatchObject({ message: expect.stringContaining('the server speaks only v4') });
});

it('a connection whose peer answers no ping is broken', async () => {
  const clock = new FakeClock();
  await using quiet = new KubeClient(accessOf(kubelet.url), { clock });
  const process = await podsOf(quiet).exec('web', ['sleep']);
  const [socket] = [...kubelet.sockets];
  const pinged = new Promise((resolve) => socket!.once('ping', resolve));
  socket!.on('ping', () => {});
  await clock.advance(30_000);
  await pinged;
  socket!.pause(); // from now on nothing is heard there
  await clock.advance(30_000);
  await clock.advance(30_000);
  await expect(process.exited).rejects.toThrow('no answer to a ping within 30000 ms');
});

it('a port of a pod is a port of this machine, for as many connections as come', async () => {
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push((error as Error).message);
  await using forward = await inside.portForward('web', { port: 80, onError });
  const said = ['one bye', 'two bye'].map((words) => text(connect(forward.port, '127.0.0.1').end(words)));
  expect(await Promise.all(said)).toEqual(['ONE BYE', 'TWO BYE']);
  const stream = await inside.dial('web', { port: 81 });
  await expect(text(stream)).rejects.toThrow('Cannot forward to default/web:81: dial tcp4 127.0.0.1:81: connect');
  await using none = await inside.portForward('web', { port: 81, onError });
  expect(await text(connect(none.port, '127.0.0.1'))).toBe('');
  await until(() => errors.length > 0);
  expect(errors[0]).toContain('connection refused');
});

it('a port that is forwarded is closed by its signal, and is not opened after that', async () => {
  const stop = new AbortController();
  const forward = await inside.portForward('web', { port: 80, signal: stop.signal });
  await (await inside.portForward('web', { port: 80, signal: stop.signal })).close();
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1); // of the one that is open
  stop.abort(new Error('enough'));
  await forward.close();
  const refused = connect(forward.port, '127.0.0.1');
  await expect(once(refused, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await expect(inside.portForward('web', { port: 80, signal: stop.signal })).rejects.toThrow('enough');
});

it('files and folders are copied into a container and out of it, and a failure says why', async () => {
  await using folder = await temporaryDir();
  const at = (...path: string[]) => join(folder.path, ...path);
  await mkdir(at('site', 'deep'), { recursive: true });
  await mkdir(at('container'));
  const large = Buffer.alloc(3_000_000, 'abc');
  await writeFile(at('site', 'large'), large);
  await writeFile(at('site', 'deep', 'run.sh'), '#!', { mode: 0o755 });
  await symlink('../large', at('site', 'deep', 'link'));
  await inside.copyTo('web', at('site'), at('container', 'www'));
  expect((await readFile(at('container', 'www', 'deep', 'link'))).equals(large)).toBe(true);
  await inside.copyTo('web', at('site', 'deep', 'run.sh'), `${at('container')}/`);
  expect((await stat(at('container', 'run.sh'))).mode & 0o777).toBe(0o755);
  expect(kubelet.asked.at(-1)!.searchParams.getAll('command')).toEqual(['tar', '-xmf', '-', '-C', at('container')]);

  await symlink('/etc/passwd', at('container', 'www', 'leaves'));
  const skipped: string[] = [];
  await inside.copyFrom('web', at('container', 'www'), at('back'), { onSkipped: (name) => void skipped.push(name) });
  expect((await readFile(at('back', 'large'))).equals(large)).toBe(true);
  expect([(await readdir(at('back'))).sort(), skipped]).toEqual([['deep', 'large'], ['./www/leaves']]);
  await inside.copyFrom('web', at('container', 'run.sh'), at('back', 'one'));
  expect(await readFile(at('back', 'one'), 'utf8')).toBe('#!');

  const failures = [
    inside.copyFrom('web', at('none'), at('x')),
    inside.copyTo('web', at('site'), at('none', 'www')),
    inside.copyTo('web', at('none'), at('container', 'x')),
    inside.copyFrom('web', at('container', 'www'), at('x'), { limitBytes: 1000 }),
    inside.copyFrom('forbidden', at('container', 'www'), at('x')),
  ];
  const sentences = (await Promise.allSettled(failures)).map((one) => (one as PromiseRejectedResult).reason.message);
  expect(sentences).toEqual([
    expect.stringMatching(/^Cannot copy ".*none" to ".*x": tar ended with 2: tar: \.\/none: Cannot stat/),
    expect.stringMatching(/^Cannot copy ".*site" to ".*www": tar ended with 2: tar: .*none: Cannot open/),
    expect.stringMatching(/ENOENT.*none/),
    expect.stringMatching(/^Cannot copy .*: it holds over 1000 bytes/),
    expect.stringMatching(/not you/),
  ]);
});
