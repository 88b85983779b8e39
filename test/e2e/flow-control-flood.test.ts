/**
 * One user floods, and the administrator reads: how long he waits, beside a server without flow control under the same
 * flood. The servers are processes of their own; what is compared are two latencies of the same minute.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ApiClient } from '../../src/testing/api-client.ts';
import { credentialsOf } from '../../src/testing/test-server.ts';
import { ServeCommand } from './serve-command.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const OBJECTS = 1500;
const FLOOD = 60;
const READS = 12;

/** The middle of how long the administrator waited for one object, in milliseconds: quiet, and in the flood. */
async function latencies(args: readonly string[]): Promise<{ quiet: number; flooded: number; refused: number }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-flood-'));
  writeFileSync(join(dataDir, 'tokens.csv'), 'token-of-loud,loud,loud-uid\n', { mode: 0o600 });
  const flags = ['--data-dir', dataDir, '--secure-port', '0', '--authorization-mode', 'AlwaysAllow'];
  await using served = new ServeCommand(['serve', ...flags, '--token-auth-file', join(dataDir, 'tokens.csv'), ...args]);
  try {
    const { url } = await served.ready();
    const { ca, token } = credentialsOf(dataDir, join(dataDir, 'admin.kubeconfig'));
    await using admin = new ApiClient({ url, ca, token });
    await using loud = new ApiClient({ url, ca, token: 'token-of-loud', maxSockets: FLOOD });
    const data = { text: 'x'.repeat(1500) };
    for (let i = 0; i < OBJECTS; i += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, j) => admin.create(CONFIG_MAPS, { metadata: { name: `c-${i + j}` }, data })),
      );
    const read = async () => {
      const times: number[] = [];
      for (let i = 0; i < READS; i++) {
        const asked = performance.now();
        await admin.get(`${CONFIG_MAPS}/c-${i}`);
        times.push(performance.now() - asked);
      }
      return times.sort((a, b) => a - b)[READS / 2]!;
    };
    await read();
    const quiet = await read();
    let [isOver, refused] = [false, 0];
    const flood = Array.from({ length: FLOOD }, async () => {
      while (!isOver) if ((await loud.ask('GET', CONFIG_MAPS)).status === 429) refused++;
    });
    await loud.ask('GET', CONFIG_MAPS); // the flood has begun
    const flooded = await read();
    isOver = true;
    await Promise.all(flood);
    return { quiet, flooded, refused };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

it('a flood of lists moves the reads of the administrator by less than half of what it does without flow control', async () => {
  const without = await latencies(['--enable-priority-and-fairness', 'false']);
  const within = await latencies([]);
  expect(within.flooded / within.quiet, JSON.stringify({ without, within })).toBeLessThan(
    without.flooded / without.quiet / 2,
  );
  expect(within.refused).toBe(0); // they wait their turn
}, 120_000);
