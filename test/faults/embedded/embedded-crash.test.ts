/**
 * kill -9 at any moment, many times over on one data directory: nothing that was answered is lost, nothing is half
 * there. `CRASH_SEED` repeats a run as far as the moments of the kills allow.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFailed } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/index.ts';
import { randomFrom, seedOf } from '../../support/random.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { CrashHistory } from './crash-history.ts';
import type { Line } from './crash-script.ts';

const ROUNDS = 50;
const MOST_ANSWERS = 250;
const seed = seedOf('CRASH_SEED');

/** Runs the writer until it has said a line that `isEnough`, kills it, and answers all that it said. */
async function runAndKill(args: string[], isEnough: (line: Line) => boolean): Promise<Line[]> {
  const script = join(import.meta.dirname, 'crash-writer.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  const ended = once(child, 'exit');
  const lines: Line[] = [];
  let isKilled = false;
  for await (const text of createInterface(child.stdout)) {
    if (!text.endsWith('}')) break; // cut off by the kill
    const line = JSON.parse(text) as Line;
    lines.push(line);
    if (!isKilled && isEnough(line)) isKilled = child.kill('SIGKILL');
  }
  const [, signal] = await ended;
  expect(signal, `the writer ended by itself: ${complaints}`).toBe('SIGKILL');
  return lines;
}

it(`loses nothing that was answered in ${ROUNDS} kills of its process`, { timeout: 180_000 }, async () => {
  let round = 0;
  onTestFailed(() => console.error(`failed in round ${round} with CRASH_SEED=${seed}`));
  await using dir = await temporaryDir();
  const random = randomFrom(seed);
  const history = new CrashHistory();
  for (round = 1; round <= ROUNDS; round++) {
    // Now and then already while it opens what the round before left behind.
    const answers = random() < 0.1 ? 0 : 1 + Math.floor(random() * MOST_ANSWERS);
    let seen = 0;
    const lines = await runAndKill([dir.path, String(round), String(seed + round * 100)], (line) =>
      answers === 0 ? line.tell === 'opening' : line.tell === 'ack' && ++seen === answers,
    );
    await using store = await openEmbeddedStore({ dataDir: dir.path, autoCompaction: { mode: 'off' } });
    await history.check(store, lines);
  }
  // The rounds have to have been worth something.
  expect(history.transactions).toBeGreaterThan(ROUNDS * 20);
  expect(history.compactRevision).toBeGreaterThan(0);
});
