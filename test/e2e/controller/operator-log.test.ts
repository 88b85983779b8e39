/** What an operator says by itself, as a process of its own, when something is wrong: in its lines and by its probes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

const PROGRAM = fileURLToPath(new URL('operator-process.ts', import.meta.url));
const MAPS = '/api/v1/namespaces/default/configmaps';

class Operator implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly ended: Promise<number | null>;
  text = '';
  #port = '';

  constructor({ kubeconfigPath }: TestServer, how: string) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', PROGRAM, kubeconfigPath, how], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
    });
    this.#process.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#port = /probes (\d+)/.exec(text)?.[1] ?? this.#port;
    });
    this.ended = new Promise((resolve) => this.#process.once('exit', (code) => resolve(code)));
  }

  async says(wanted: RegExp): Promise<void> {
    while (!wanted.test(this.text)) {
      if (this.#process.exitCode !== null && !wanted.test(this.text))
        throw new Error(`The operator ended without a line like ${wanted}:\n${this.text}`);
      await this.#more();
    }
  }

  /** Resolves with the next words, or the end of them. */
  #more(): Promise<void> {
    const { stderr } = this.#process;
    return new Promise((resolve) => {
      const on = () => {
        stderr!.off('data', on).off('close', on);
        resolve();
      };
      stderr!.on('data', on).on('close', on);
    });
  }

  /** Status and text of a probe. */
  async probe(path: string): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}${path}`);
    return `${answer.status} ${await answer.text()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.ended;
  }
}

it('whose kind is not installed says what it waits for, and is unready', async () => {
  await using server = await startTestServer();
  await using operator = new Operator(server, 'no-kind');
  await operator.says(/ manager started: "widgets", campaigning for lease "operator"\n/);
  await operator.says(/ leading \(term \d+\)\n/);
  await operator.says(
    / not well: informer widgets\.ex\.io: refused: the server does not serve it \(is it installed\?\)\n/,
  );
  expect(await operator.probe('/readyz')).toContain(
    '[-]informer widgets.ex.io failed: refused: the server does not serve it',
  );
  expect(await operator.probe('/livez')).toBe('200 ok');
});

it('whose reconcile throws says which, how often, when again, why and where', async () => {
  await using server = await startTestServer();
  await server.client.create(MAPS, { metadata: { name: 'a' } });
  await using operator = new Operator(server, 'throws');
  await operator.says(/ controller "widgets" runs\n/);
  const first =
    /controller "widgets": reconcile of "default\/a" failed \(attempt 1, next try in 5 ms\): boom at default\/a \(at .*operator-process\.ts:\d+:\d+\)+\n/;
  await operator.says(first);
  await operator.says(/\(attempt 2, next try in 10 ms\)/);
  expect(operator.text).not.toContain('(node:');
});

it('whose reconcile hangs says so, is unready, and goes on', async () => {
  await using server = await startTestServer();
  await server.client.create(MAPS, { metadata: { name: 'a' } });
  await using operator = new Operator(server, 'hangs');
  await operator.says(/ not well: controller "widgets": reconcile of "default\/a" has not ended for \d s\n/);
  expect(await operator.probe('/readyz')).toMatch(
    /^503 \[-\]manager failed: controller "widgets": reconcile of "default\/a"/,
  );
});

it('whose reconcile hangs ends by itself if it was asked to', async () => {
  await using server = await startTestServer();
  await server.client.create(MAPS, { metadata: { name: 'a' } });
  await using operator = new Operator(server, 'exits');
  await operator.says(
    /Cannot go on with "default\/a" in controller "widgets": its reconcile does not end: the process ends\n/,
  );
  expect(await operator.ended).toBe(1);
});
