/** `longwatch kubeconfig` and `longwatch version`, on files and against a real server. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfig } from '../../../src/cli/commands/kubeconfig/kubeconfig-command.ts';
import { version } from '../../../src/cli/commands/version.ts';
import { KubeConfig } from '../../../src/client/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { runToEnd } from '../../support/cli/test-io.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const flags = () => ({ dataDir: server.dataDir, name: 'longwatch', setCurrent: true });
const foreign = (name: string) => `apiVersion: v1
kind: Config
current-context: ${name}
preferences: {colors: true}
clusters:
- name: ${name}
  cluster: {server: "https://example.com", extensions: [{name: tool, extension: {a: 1}}]}
users:
- name: ${name}
  user: {token: "0123"}
contexts:
- name: ${name}
  context: {cluster: ${name}, user: ${name}}
`;

describe('longwatch kubeconfig', () => {
  it('prints the one of the data folder', async () => {
    const { code, out } = await runToEnd(kubeconfig(flags()));
    expect(code).toBe(0);
    expect(out).toBe(readFileSync(server.kubeconfigPath, 'utf8'));
  });

  it('says what to do where there is none', async () => {
    await using folder = await temporaryDir();
    const { code, err } = await runToEnd(kubeconfig({ ...flags(), dataDir: folder.path }));
    expect(code).toBe(1);
    expect(err).toContain('longwatch serve');
  });

  it('--merge makes a file for its owner only that leads to the server', async () => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'kube', 'config');
    const { code, err } = await runToEnd(kubeconfig({ ...flags(), merge: true, name: 'lab' }), { KUBECONFIG: file });
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('context "lab"') });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const config = await KubeConfig.load({ paths: [file] });
    expect(config.currentContext).toBe('lab');
    expect(config.access().server.origin).toBe(server.url);
  });

  it('--merge keeps what others have, whole, and the current context if told', async () => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'config');
    writeFileSync(file, foreign('work'));
    chmodSync(file, 0o600);
    for (let i = 0; i < 2; i++)
      expect((await runToEnd(kubeconfig({ ...flags(), merge: file, setCurrent: false }))).code).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('extension');
    expect(text).toContain('colors: true');
    const config = await KubeConfig.load({ paths: [file] });
    expect(config.currentContext).toBe('work');
    expect(config.contexts.map(({ name }) => name)).toEqual(['work', 'longwatch']);
    expect((await config.access({ context: 'work' }).credentials?.current())?.authorization).toBe('Bearer 0123');
  });

  it('--merge refuses a name that another server has, unless it is forced', async () => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'config');
    writeFileSync(file, foreign('longwatch'));
    const refused = await runToEnd(kubeconfig({ ...flags(), merge: file }));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('--name') });
    expect(readFileSync(file, 'utf8')).toBe(foreign('longwatch'));
    expect((await runToEnd(kubeconfig({ ...flags(), merge: file, force: true }))).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain(server.url);
  });

  it.each([
    ['is no YAML', 'a: [\n'],
    ['is no kubeconfig', '- a\n'],
  ])('--merge leaves a file alone that %s, and does not quote it', async (what, text) => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'config');
    writeFileSync(file, `# secret\n${text}`);
    const { code, err } = await runToEnd(kubeconfig({ ...flags(), merge: file }));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining(what) });
    expect(err).not.toContain('secret');
    expect(readFileSync(file, 'utf8')).toBe(`# secret\n${text}`);
  });

  it('--merge waits for nobody: a lock is said', async () => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'config');
    writeFileSync(`${file}.lock`, '');
    const { code, err } = await runToEnd(kubeconfig({ ...flags(), merge: file }));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('.lock') });
  });
});

describe('longwatch version', () => {
  it('names both sides, and says that the server is ours', async () => {
    const { code, lines } = await runToEnd(version({ kubeconfig: server.kubeconfigPath }));
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^longwatch \d+\.\d+\.\d+ \(Node \d+/);
    expect(lines[1]).toMatch(/^server v1\.36\.\d+\+longwatch \(longwatch\) at https/);
  });

  it('-o json is one object', async () => {
    const { out } = await runToEnd(version({ kubeconfig: server.kubeconfigPath, output: 'json' }));
    expect(JSON.parse(out)).toMatchObject({ client: { node: process.version }, server: { major: '1' } });
  });

  it('a server that is away is said and is no failure', async () => {
    await using folder = await temporaryDir();
    const file = join(folder.path, 'config');
    writeFileSync(
      file,
      readFileSync(server.kubeconfigPath, 'utf8').replace(/server: \S+/, 'server: https://127.0.0.1:1'),
    );
    const { code, lines, err } = await runToEnd(version({ kubeconfig: file }));
    expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 1 });
    expect(err).toContain('server unknown');
  });
});
