/** The program as built: what it looks like on a terminal, and that none of it goes into pipes and files. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { hasScript, Terminal } from '../../support/cli/terminal.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { COMMAND, ServeCommand } from '../cli/serve-command.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'lamp' } });
});
afterAll(() => server[Symbol.asyncDispose]());

const program = (...args: string[]): string[] => [process.execPath, COMMAND, ...args];
const watchArgs = () => ['watch', 'cm', '--max-events', '1', '--kubeconfig', server.kubeconfigPath];
/** In a process of its own, without a terminal. */
async function run(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  await using command = new ServeCommand(args);
  const [code] = await command.exited;
  return { code, out: command.out, err: command.err };
}

describe('longwatch without a terminal', () => {
  it('alone prints its verbs', async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    for (const verb of ['serve', 'watch', 'doctor', 'stress', 'lab', 'top', 'snapshot', 'completion', 'version'])
      expect(out).toMatch(new RegExp(`^ {2}${verb}\\b`, 'm'));
  });

  it('a verb has help with examples', async () => {
    for (const args of [
      ['watch', '--help'],
      ['help', 'watch'],
    ])
      expect(await run(...args)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/Examples:[\s\S]*longwatch watch pods -A/),
      });
  });

  it('a verb that is not there, or a flag, is 2 and says what to do', async () => {
    expect(await run('wach')).toMatchObject({ code: 2, err: expect.stringContaining('watch') });
    expect(await run('watch', 'cm', '--no-such')).toMatchObject({ code: 2, err: expect.stringContaining('--help') });
  });

  it('prints no colours and no progress', async () => {
    const { code, out, err } = await run(...watchArgs());
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^ADDED {4}default\/lamp @\d+\n$/);
  });

  it('a reader that goes ends it quietly', async () => {
    const line = `"${process.execPath}" "${COMMAND}" watch cm -o yaml --kubeconfig "${server.kubeconfigPath}" | head -1`;
    await using pipeline = new ServeCommand([], { command: ['sh', '-c', line] });
    let hasEnded = false;
    const ended = pipeline.exited.then(() => {
      hasEnded = true;
    });
    await pipeline.until(() => pipeline.out.includes('---'));
    // It is found out at the next event.
    for (let i = 0; !hasEnded; i++) {
      await server.client.create('/api/v1/namespaces/default/configmaps', { metadata: { name: `more-${i}` } });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    expect({ out: pipeline.out, err: pipeline.err }).toEqual({ out: '---\n', err: '' });
  });

  it('completion bash is a script that bash reads', async () => {
    const { code, out } = await run('completion', 'bash');
    expect(code).toBe(0);
    expect(spawnSync('bash', ['-n'], { input: out, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });
});

describe.skipIf(!hasScript)('longwatch on a terminal (needs script)', () => {
  it('has colours, and none with NO_COLOR', async () => {
    await using coloured = new Terminal(program(...watchArgs()));
    expect((await coloured.exited)[0]).toBe(0);
    expect(coloured.output).toContain('\x1b[32mADDED');
    await using plain = new Terminal(program(...watchArgs()), { NO_COLOR: '1' });
    expect((await plain.exited)[0]).toBe(0);
    expect(plain.output).toContain('ADDED    default/lamp');
    expect(plain.output).not.toContain('\x1b');
  });

  it('draws a bar while it works, and takes it away', async () => {
    const args = [
      'stress',
      '--count',
      '20',
      '--rate',
      '1000',
      '--watchers',
      '1',
      '--kubeconfig',
      server.kubeconfigPath,
    ];
    await using terminal = new Terminal(program(...args));
    expect((await terminal.exited)[0]).toBe(0);
    expect(terminal.output).toMatch(/stress \[#*-*\] +\d+ %/);
    expect(terminal.screen).not.toContain('[#');
    expect(terminal.screen).toMatch(/gaps +none/);
  });

  it('serve says what to type next', async () => {
    await using folder = await temporaryDir();
    const args = ['serve', '--secure-port', '0', '--data-dir', join(folder.path, 'data')];
    await using terminal = new Terminal(program(...args));
    await terminal.until((screen) => screen.includes('Next: export KUBECONFIG='));
    terminal.type('\x03');
    expect((await terminal.exited)[0]).toBe(0);
  });
});
