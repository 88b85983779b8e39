/** `longwatch serve` as built: flags from a file, the ready file, the log as JSON, watches in the log. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../support/client/client-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { ServeCommand } from '../cli/serve-command.ts';

describe('longwatch serve', () => {
  it('--config gives flags, --ready-file is there while it is ready, --log-format json is an object a line', async () => {
    await using folder = await temporaryDir();
    const [config, ready] = [join(folder.path, 'server.yaml'), join(folder.path, 'ready')];
    writeFileSync(ready, 'left by an earlier one');
    writeFileSync(
      config,
      `secure-port: 0\ndata-dir: ${join(folder.path, 'data')}\nv: 6\nlog-format: json\nready-file: ${ready}\ncontrollers: ["-*"]\n`,
    );
    await using server = new ServeCommand(['serve', '--config', config]);
    const { url, kubeconfig } = await server.ready();
    await until(() => existsSync(ready) && readFileSync(ready, 'utf8').startsWith('{'));
    expect(JSON.parse(readFileSync(ready, 'utf8'))).toEqual({ url, kubeconfig, pid: server.child.pid });
    expect(statSync(ready).mode & 0o777).toBe(0o600);
    const client = await server.client();
    await client.ask('GET', '/api/v1/pods?watch=true&timeoutSeconds=1');
    client.close();
    await server.until(() => server.err.includes('"Watch opened"') && /"HTTP".*"watch"/.test(server.err));
    server.child.kill('SIGTERM');
    expect((await server.exited)[0]).toBe(0);
    expect(existsSync(ready)).toBe(false);
    const lines = server.err
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ msg }) => msg === 'Watch opened')).toMatchObject({
      URI: expect.stringContaining('/api/v1/pods'),
    });
    expect(lines.find(({ msg, verb }) => msg === 'HTTP' && verb === 'watch')).toMatchObject({ resp: '200' });
    expect(lines.every(({ ts, msg }) => typeof ts === 'number' && typeof msg === 'string')).toBe(true);
    expect(lines.at(-1).msg).toBe('stopped');
  });

  it.each([
    ['a name that is no flag', 'securePort: 1', '"securePort" is no flag of serve'],
    ['a value that a flag refuses', 'secure-port: many', '"secure-port"'],
    ['a mapping where a value belongs', 'v: {a: 1}', '"v" takes a text'],
    ['no YAML', 'a: [', 'is no YAML'],
    ['a list', '- a', 'is no mapping'],
  ])('--config refuses %s, and nothing is started', async (_what, text, said) => {
    await using folder = await temporaryDir();
    const config = join(folder.path, 'server.yaml');
    writeFileSync(config, text);
    await using server = new ServeCommand(['serve', '--data-dir', join(folder.path, 'data'), '--config', config]);
    expect((await server.exited)[0]).toBe(2);
    expect(server.err).toContain(said);
    expect(existsSync(join(folder.path, 'data'))).toBe(false);
  });

  it('a flag on the command line counts more than the file', async () => {
    await using folder = await temporaryDir();
    const config = join(folder.path, 'server.yaml');
    writeFileSync(config, 'secure-port: 1\nlog-format: json\n');
    const args = ['serve', '--config', config, '--secure-port', '0', '--data-dir', join(folder.path, 'data')];
    await using server = new ServeCommand(args);
    expect(new URL((await server.ready()).url).port).not.toBe('1');
  });
});
