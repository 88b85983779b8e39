/** A short run of what `npm run fuzz` does for longer; `FUZZ_SEED=n` and `FUZZ_SECONDS=n` change it. */
import { expect, it } from 'vitest';
import { temporaryDir } from '../support/temporary-dir.ts';
import { canMeter } from '../support/victim/process-meter.ts';
import { startServerVictim } from '../support/victim/server-target.ts';
import { fuzz, inputAt } from './fuzz-run.ts';

const seed = Number(process.env.FUZZ_SEED ?? 1);
const seconds = Number(process.env.FUZZ_SECONDS ?? 45);

it.skipIf(!canMeter())(
  `no input of seed ${seed} ends, holds, breaks or fattens the server`,
  async () => {
    await using dir = await temporaryDir();
    await using victim = await startServerVictim(dir.path);
    const { failures, sent } = await fuzz(victim, { seed, seconds });
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(0);
  },
  (seconds + 240) * 1000,
);

it('makes the same input again from its seed and number', () => {
  for (let index = 0; index < 200; index++) expect(inputAt(seed, index)).toEqual(inputAt(seed, index));
});
