/**
 * From `longwatch serve` to its ready line, as a user waits for it: on an empty folder, where certificates have to be
 * made, on the same folder again, and with 50,000 pods; then until the first LIST of them is answered. Runs what is
 * built in dist/, and builds it first if it is stale; where that fails, the sources, which start more slowly.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { Client } from '../load/server-client.ts';
import { GROUPS, PODS, preparePods } from '../load/server-data.ts';

export const serverStart: ServerBenchmark = { name: 'server-start', run };

const root = fileURLToPath(new URL('../../..', import.meta.url));
const STOP_LIMIT_MS = 10_000;

type Start = {
  /** What the ready line says. */
  readonly toldMs: number;
  /** From the outside, with the start of the process. */
  readonly readyMs: number;
  readonly firstListMs: number;
};

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const command = commandToRun(say);
  const note = command.isBuilt ? '' : 'from the sources: nothing could be built';
  const rounds = isQuick ? 2 : 4;
  const pods = isQuick ? 10_000 : 50_000;
  const { dataDir: fullDir } = await preparePods(context, pods, GROUPS);
  const starts = { first: [] as Start[], again: [] as Start[], full: [] as Start[] };
  for (let round = 0; round < rounds; round++) {
    say('start: empty, again, full');
    const dataDir = mkdtempSync(join(context.folder, 'server-'));
    starts.first.push(await startOnce(context, command.args, dataDir));
    starts.again.push(await startOnce(context, command.args, dataDir));
    starts.full.push(await startOnce(context, command.args, fullDir));
  }
  const row = (what: string, of: readonly Start[]) =>
    valueRow(
      what,
      'ms',
      of.map(({ toldMs }) => toldMs),
      {
        note: [`${Math.round(Math.min(...of.map(({ readyMs }) => readyMs)))} ms seen from outside`, note]
          .filter(Boolean)
          .join('; '),
      },
    );
  return [
    row('start on an empty folder', starts.first),
    row('start again on it', starts.again),
    row(`start with ${pods} pods`, starts.full),
    valueRow(
      `start with ${pods} pods: until all are listed`,
      'ms',
      starts.full.map(({ firstListMs }) => firstListMs),
    ),
  ];
}

function commandToRun(say: (text: string) => void): { args: string[]; isBuilt: boolean } {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { encoding: 'utf8' });
  const built = join(root, 'dist/bundle/cli.js');
  if (status === 0 && existsSync(built)) return { args: [built], isBuilt: true };
  say('start: cannot build dist/, running the sources');
  return { args: ['--import', 'tsx', join(root, 'src/cli/main.ts')], isBuilt: false };
}

async function startOnce({ signal }: ServerContext, args: readonly string[], dataDir: string): Promise<Start> {
  const begin = performance.now();
  const child = spawn(process.execPath, [...args, 'serve', '--secure-port', '0', '--data-dir', dataDir], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const abort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  try {
    const lines = createInterface({ input: child.stdout });
    const [line = ''] = (await Promise.race([once(lines, 'line'), exited.then(() => [])])) as [string?];
    const readyMs = performance.now() - begin;
    const ready = /^longwatch ready https:\/\/[^:]+:(\d+) .* in (\d+) ms$/.exec(line);
    if (!ready) throw new Error(`Cannot start the server: it said ${JSON.stringify(line)}`);
    const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
    const client = await Client.open({ port: Number(ready[1]), token });
    await client.must('GET', PODS);
    const firstListMs = performance.now() - begin;
    client.close();
    return { toldMs: Number(ready[2]), readyMs, firstListMs };
  } finally {
    signal.removeEventListener('abort', abort);
    child.kill('SIGTERM');
    const limit = setTimeout(abort, STOP_LIMIT_MS);
    await exited;
    clearTimeout(limit);
  }
}
