/**
 * What keeps `longwatch serve` from starting, each in a real process: one sentence that names what was found and what to
 * do, on stderr, at once, and exit code 1; 2 if it was called the wrong way.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensurePki } from '../../../src/server/serving/pki.ts';
import { COMMAND, isRoot, NOBODY, ServeCommand, type ServeOptions } from './serve-command.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-refusals-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...names: string[]) => join(folder, ...names);
const isLinux = process.platform === 'linux';

/** What it said; it must have been one line, and nothing on stdout. */
async function refusal(args: string[], options: ServeOptions = {}, code = 1): Promise<string> {
  await using serve = new ServeCommand(['serve', '--secure-port', '0', ...args], options);
  const [status] = await serve.exited;
  expect([status, serve.out], serve.err).toEqual([code, '']);
  return serve.err;
}

const oneLine = (sentence: string) => `longwatch: ${sentence}\n`;

it('a data folder that is a file', async () => {
  writeFileSync(at('file'), '');
  expect(await refusal(['--data-dir', at('file')])).toBe(
    oneLine(
      `Cannot keep data in "${at('file')}": "${at('file')}" is not a folder; move it away, or name another folder with --data-dir`,
    ),
  );
});

it.runIf(isLinux)('a data folder where there can be none, such as in /proc', async () => {
  expect(await refusal(['--data-dir', '/proc/xx'])).toBe(
    oneLine('Cannot keep data in "/proc/xx": no folder can be made there; name another folder with --data-dir'),
  );
});

it.runIf(isRoot)('a data folder that this user may not write to, or that has files of another user', async () => {
  chmodSync(folder, 0o755);
  mkdirSync(at('data'), 0o755);
  const args = ['--data-dir', at('data')];
  const mayNot = `Cannot keep data in "${at('data')}": user ${NOBODY} may not write there; give the folder to this user (chown), or name another folder with --data-dir`;
  expect(await refusal(args, { uid: NOBODY })).toBe(oneLine(mayNot));
  chownSync(at('data'), NOBODY, NOBODY);
  mkdirSync(at('data', 'store'));
  expect(await refusal(args, { uid: NOBODY })).toBe(
    oneLine(
      `Cannot keep data in "${at('data')}": "${at('data', 'store')}" belongs to user 0, and this process runs as user ${NOBODY}; give it to this user (chown -R ${NOBODY} ${at('data')}), run as user 0, or name another folder with --data-dir`,
    ),
  );
});

it.runIf(isRoot && isLinux)('a file system that is read-only', async ({ skip }) => {
  mkdirSync(at('disk'));
  const script = 'mount -t tmpfs -o ro none "$0" || exit 77; exec "$@"';
  const command = ['unshare', '-m', 'sh', '-c', script, at('disk'), process.execPath, COMMAND] as const;
  await using serve = new ServeCommand(['serve', '--data-dir', at('disk', 'data')], { command: [...command] });
  const [status] = await serve.exited;
  if (status !== 1) skip('nothing can be mounted here');
  expect(serve.err).toBe(
    oneLine(
      `Cannot keep data in "${at('disk', 'data')}": it is on a file system that is read-only; mount that for writing, or name another folder with --data-dir`,
    ),
  );
});

it('a data folder that another server has', async () => {
  await using first = new ServeCommand(['serve', '--secure-port', '0', '--data-dir', at('data')]);
  await first.ready();
  expect(await refusal(['--data-dir', at('data')])).toMatch(
    /^longwatch: Cannot open ".*store": process \d+ has it open; stop that one, or name another folder with --data-dir\n$/,
  );
});

it('a port that is taken, and an address that this machine does not have', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const taken = `Cannot listen on 127.0.0.1 port ${port}: another process has it; stop that one, or choose another with`;
  try {
    expect(await refusal(['--data-dir', at('data'), '--secure-port', String(port)])).toBe(
      oneLine(`${taken} --bind-address and --secure-port (port 0 picks a free one)`),
    );
    const urls = ['--etcd-listen-client-urls', `http://127.0.0.1:${port}`];
    expect(await refusal(['--data-dir', at('data'), ...urls])).toBe(
      oneLine(`${taken} --etcd-listen-client-urls (port 0 picks a free one)`),
    );
  } finally {
    other.close();
  }
  expect(await refusal(['--data-dir', at('other'), '--bind-address', '192.0.2.77'])).toBe(
    oneLine(
      'Cannot listen on 192.0.2.77 port 0: this machine does not have that address; choose one it has, or 0.0.0.0 for all, with --bind-address and --secure-port',
    ),
  );
});

it.runIf(isRoot && isLinux)('a port below 1024 without the right to it', async ({ skip }) => {
  chmodSync(folder, 0o777);
  const args = ['--data-dir', at('data'), '--secure-port', '443'];
  await using serve = new ServeCommand(['serve', ...args], { uid: NOBODY });
  const ended = await Promise.race([serve.exited, serve.ready().catch(() => serve.exited)]);
  if (!Array.isArray(ended)) skip('any user may have any port here');
  expect(serve.err).toBe(
    oneLine(
      `Cannot listen on 127.0.0.1 port 443: user ${NOBODY} may not have port 443; choose one from 1024 up with --bind-address and --secure-port, or grant the right (CAP_NET_BIND_SERVICE)`,
    ),
  );
});

it('certificates and keys that cannot be used', async () => {
  const { serving, admin } = ensurePki({ dataDir: at('other') });
  writeFileSync(at('a.crt'), serving.certPem);
  writeFileSync(at('b.key'), admin.keyPem);
  const pair = ['--data-dir', at('data'), '--tls-cert-file', at('a.crt'), '--tls-private-key-file'];
  expect(await refusal([...pair, at('b.key')])).toBe(
    oneLine(`Cannot serve with "${at('a.crt')}": the key in "${at('b.key')}" does not belong to it`),
  );
  expect(await refusal([...pair, at('a.crt')])).toBe(
    oneLine(`Cannot read the private key from "${at('a.crt')}": it holds no private key in PEM form`),
  );
  expect(await refusal(['--data-dir', at('data'), '--token-auth-file', at('none')])).toMatch(
    /^longwatch: Cannot read the tokens in ".*none": ENOENT.*\n$/,
  );
});

it('an authority without its key: none is made in its place', async () => {
  {
    await using first = new ServeCommand(['serve', '--secure-port', '0', '--data-dir', at('data')]);
    await first.ready();
  }
  rmSync(at('data', 'pki', 'ca.key'));
  expect(await refusal(['--data-dir', at('data')])).toBe(
    oneLine(
      `Cannot use the certificate authority in "${at('data', 'pki')}": ca.crt is there, but ca.key is missing; put back the pair that belongs together, or remove both to have a new authority made, which no client trusts until it gets the new kubeconfig`,
    ),
  );
});

it('an etcd that is not there: it says so at once, goes on trying, and ends', async () => {
  const args = ['serve', '--data-dir', at('data'), '--secure-port', '0', '--etcd-servers', 'http://127.0.0.1:1'];
  await using serve = new ServeCommand(args);
  await serve.until(() => serve.err !== '');
  expect(serve.err).toBe(
    'cannot reach etcd: no connection to http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1; trying again\n',
  );
  const [status] = await serve.exited;
  expect(status).toBe(1);
  expect(serve.err.match(/trying again/g)!.length).toBeGreaterThan(1);
  expect(serve.err).toMatch(
    /\nlongwatch: Cannot reach etcd: .*ECONNREFUSED 127\.0\.0\.1:1; start it, or correct --etcd-servers .*\n$/,
  );
}, 40_000);

it('flags that cannot be: exit code 2', async () => {
  expect(await refusal(['--data-dri', 'x'], {}, 2)).toContain('(Did you mean --data-dir?)');
  expect(await refusal(['--tls-san', 'a b'], {}, 2)).toContain('"a b" is no name for a certificate');
  expect(await refusal(['--tls-san', 'a', '--tls-cert-file', 'x', '--tls-private-key-file', 'y'], {}, 2)).toContain(
    '--tls-san is for the certificate that is made',
  );
});
