/**
 * Random damages to the data file: the store tells what it held, or refuses with Corrupt, and goes on to; it never tells
 * anything else, and never ends the process. `DAMAGES=1000` makes as many, `DAMAGE_SEED` repeats a run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFailed } from 'vitest';
import { randomFrom, seedOf } from '../../support/random.ts';
import { put, remove } from '../../support/store/store-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { type DamageLine, describeStore, openStore, writeMore } from './damage-opener.ts';

const DAMAGES = Number(process.env.DAMAGES ?? 60);
const seed = seedOf('DAMAGE_SEED');

/** A store with a bit of everything, and copies of its file from while it was written. */
async function makeStore(folder: string): Promise<{ found: string; after: string }> {
  const dataDir = join(folder, 'whole');
  mkdirSync(join(folder, 'past'));
  const random = randomFrom(42);
  for (let round = 0; round < 8; round++) {
    const store = await openStore(dataDir);
    await store.grantLease(100 + round, { id: BigInt(round + 1) });
    for (let i = 0; i < 40; i++) {
      const size = Math.floor(random() * (random() < 0.1 ? 60_000 : 1500));
      await put(store, `k${Math.floor(random() * 60)}`, 'x'.repeat(size), random() < 0.1 ? BigInt(round + 1) : 0n);
    }
    const ops = Array.from({ length: 20 }, (_, i) => ({ kind: 'put', key: `t${i}`, value: Buffer.from('t') }) as const);
    await store.txn({ then: ops });
    await remove(store, { prefix: 'k1' });
    await store.compact((await store.revision()) - 30, { physical: round % 2 === 0 });
    copyFileSync(join(dataDir, 'data.mdb'), join(folder, 'past', `${round}a`));
    if (round === 7) for (let i = 0; i < 3; i++) await put(store, 'last', String(i));
    await store.close();
    // The very last commit but one, too: what the newest header page goes back to.
    if (round < 7) copyFileSync(join(dataDir, 'data.mdb'), join(folder, 'past', `${round}b`));
  }
  const store = await openStore(dataDir);
  const found = await describeStore(store);
  copyFileSync(join(dataDir, 'data.mdb'), join(folder, 'past', 'before'));
  await put(store, 'last', 'of all');
  const last = await describeStore(store);
  expect(last).not.toBe(found);
  await store.close();
  cpSync(dataDir, join(folder, 'copy'), { recursive: true });
  return { found: last, after: await writeMore(join(folder, 'copy')) };
}

/** What became of each damage; a process that ends on one is followed by another for the rest. */
async function tryAll(folder: string): Promise<{ lines: DamageLine[]; endings: string[] }> {
  const lines: DamageLine[] = [];
  const endings: string[] = [];
  for (let next = 1; next <= DAMAGES; ) {
    const script = join(import.meta.dirname, 'damage-opener.ts');
    const args = ['--import', 'tsx', script, folder, String(seed), String(next), String(DAMAGES)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let complaints = '';
    child.stderr.on('data', (chunk) => {
      complaints += chunk;
    });
    const ended = once(child, 'close');
    for await (const text of createInterface(child.stdout)) {
      lines.push(JSON.parse(text) as DamageLine);
      next = lines[lines.length - 1]!.number + 1;
    }
    const [code, signal] = await ended;
    if (next <= DAMAGES) endings.push(`damage ${next++}: ${signal ?? code} ${complaints.slice(-500)}`);
  }
  return { lines, endings };
}

it(`${DAMAGES} damaged files tell what they held, or are refused`, { timeout: 60_000 + DAMAGES * 2000 }, async () => {
  onTestFailed(() => console.error(`failed with DAMAGE_SEED=${seed} DAMAGES=${DAMAGES}`));
  await using dir = await temporaryDir();
  const whole = await makeStore(dir.path);
  const { lines, endings } = await tryAll(dir.path);
  expect(endings).toEqual([]);
  const wrong = lines.filter(
    (line) => line.outcome === 'opened' && (line.found !== whole.found || line.after !== whole.after),
  );
  expect(wrong).toEqual([]);
  const refusals = lines.filter((line) => line.outcome === 'refused');
  // A number of the format that is damaged upwards is taken for that of a newer version.
  const clear = ['Corrupt', 'UnsupportedFormat'];
  const unclear = refusals.filter(({ code, message }) => !clear.includes(code) || !/data\.mdb|SEAL/.test(message));
  expect(unclear).toEqual([]);
  // The damages have to have been worth something, and so have the stores.
  expect(refusals.length).toBeGreaterThan(DAMAGES / 4);
  expect(refusals.length).toBeLessThan(DAMAGES);
  if (process.env.DAMAGES) console.log(`${lines.length - refusals.length} right, ${refusals.length} refused`);
});
