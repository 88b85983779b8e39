/** The plugin is a real child process: this Node, with a script of one line. */
import { expect, it } from 'vitest';
import { ExecPlugin, type ExecPluginOptions } from './exec-plugin.ts';
import type { ExecEntry } from './kubeconfig-file.ts';

const apiVersion = 'client.authentication.k8s.io/v1';

function plugin(script: string, entry: Partial<ExecEntry> = {}, options: ExecPluginOptions = {}): ExecPlugin {
  const exec: ExecEntry = {
    apiVersion,
    command: process.execPath,
    args: ['-e', script],
    env: {},
    interactiveMode: 'Never',
    provideClusterInfo: false,
    ...entry,
  };
  return new ExecPlugin(exec, 'users[0].user.exec of "cfg"', { isTerminal: () => false, ...options });
}

/** A script that answers with this status. */
const answers = (status: object, version = apiVersion) =>
  `console.log(${JSON.stringify(JSON.stringify({ kind: 'ExecCredential', apiVersion: version, status }))})`;
const answersPid = `console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: '${apiVersion}', status: { token: String(process.pid), expirationTimestamp: '2030-01-01T00:00:00Z' } }))`;

it('an answer is used until it expires, and asked for once however many wait', async () => {
  let now = Date.parse('2029-12-31T00:00:00Z');
  const exec = plugin(answersPid, {}, { now: () => now });
  const [first, same] = await Promise.all([exec.current(), exec.current()]);
  expect(same).toEqual(first);
  expect(await exec.current()).toEqual(first);
  now = Date.parse('2029-12-31T23:59:56Z'); // too close to its end
  expect(await exec.current()).not.toEqual(first);
});

it('a refused answer is asked for again, one that is old already is not', async () => {
  const exec = plugin(answersPid, {}, { now: () => 0 });
  const first = await exec.current();
  expect(exec.refused(first)).toBe(true);
  const second = await exec.current();
  expect(second).not.toEqual(first);
  exec.refused(first);
  expect(await exec.current()).toEqual(second);
});

it('the program is told the version, the cluster and its environment', async () => {
  const script = `const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: info.apiVersion, status: { token: process.env.EXTRA + JSON.stringify(info.spec) } }))`;
  const entry = { env: { EXTRA: 'e' }, provideClusterInfo: true, apiVersion: 'client.authentication.k8s.io/v1beta1' };
  const exec = plugin(script, entry, { cluster: async () => ({ server: 'https://c' }) });
  expect(await exec.current()).toMatchObject({
    authorization: 'Bearer e{"cluster":{"server":"https://c"},"interactive":false}',
  });
});

it('a certificate comes with its key', async () => {
  const exec = plugin(answers({ clientCertificateData: 'C', clientKeyData: 'K' }));
  expect(await exec.current()).toMatchObject({ cert: 'C', key: 'K' });
});

it.each<[claim: string, script: string, entry: Partial<ExecEntry>, complaint: string]>([
  [
    'no such program',
    '',
    { command: '/nowhere/plugin', installHint: 'Install it first' },
    'there is no such program. Install it first',
  ],
  ['a failure', 'console.error("log in first"); process.exit(3)', {}, 'it ended with 3: log in first'],
  ['no JSON', 'console.log("hello")', {}, 'its output is no JSON (6 characters)'],
  ['another kind', 'console.log("{}")', {}, 'its output is no ExecCredential, kind is absent'],
  [
    'another version',
    answers({ token: 't' }, 'client.authentication.k8s.io/v1beta1'),
    {},
    'its output has apiVersion "client.authentication.k8s.io/v1beta1"',
  ],
  ['nothing in it', answers({}), {}, 'neither status.token nor a client certificate'],
  [
    'half a certificate',
    answers({ clientKeyData: 'k' }),
    {},
    'only one of status.clientCertificateData and clientKeyData',
  ],
  [
    'a strange time',
    answers({ token: 't', expirationTimestamp: 'soon' }),
    {},
    'its status.expirationTimestamp is "soon"',
  ],
  ['no terminal', answers({ token: 't' }), { interactiveMode: 'Always' }, 'stdin is no terminal'],
  ['a flood', 'process.stdout.write("x".repeat(2 ** 21))', {}, 'it wrote more than 1048576 bytes'],
])('a plugin with %s is told with its name and place', async (_claim, script, entry, complaint) => {
  const refused = plugin(script, entry).current();
  await expect(refused).rejects.toThrow(complaint);
  await expect(refused).rejects.toThrow('(users[0].user.exec of "cfg")');
});

it('a program that hangs is stopped, and an abort ends the wait for it', async () => {
  const hang = 'setInterval(() => {}, 1000)';
  await expect(plugin(hang, {}, { timeoutMs: 50 }).current()).rejects.toThrow('it took more than 50 ms');
  const stop = new AbortController();
  // An abort leaves the program running, for others who may wait for it: this one ends by itself, also after the test.
  const waiting = plugin('setTimeout(() => {}, 2000)', {}, { timeoutMs: 2000 }).current(stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});
