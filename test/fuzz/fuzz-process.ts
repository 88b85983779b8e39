/**
 * `npm run fuzz -- --seconds N --seed S [--most N] [--first N]`: for as long as one likes, with a report at the end.
 * `--index N` sends one input of a seed alone and says what happens.
 */
import { parseArgs } from 'node:util';
import { temporaryDir } from '../support/temporary-dir.ts';
import { startServerVictim } from '../support/victim/server-target.ts';
import { fuzz, inputAt } from './fuzz-run.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { seconds: text, seed: text, most: text, first: text, index: text } });
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const one = values.index === undefined ? undefined : Number(values.index);

await using dir = await temporaryDir();
await using victim = await startServerVictim(dir.path);
if (one !== undefined) console.log(JSON.stringify(inputAt(seed, one), undefined, 1));
const startedMs = performance.now();
const report = await fuzz(victim, {
  seed,
  seconds: Number(values.seconds ?? 60),
  tell: (line) => console.log(line),
  ...(values.most !== undefined && { most: Number(values.most) }),
  ...(values.first !== undefined && { first: Number(values.first) }),
  ...(one !== undefined && { first: one, most: 1 }),
});
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
const statuses = [...report.byStatus].sort().map(([status, count]) => `${status}: ${count}`);
console.log(`seed ${seed}: ${report.sent} sent in ${seconds} s (${statuses.join(', ')})`);
console.log(
  `worst /livez ${report.worstMs.toFixed(0)} ms, memory +${(report.grownBytes / 1024 / 1024).toFixed(0)} MiB`,
);
for (const { what, index, input } of report.failures)
  console.error(
    `FAILED: ${what}\n  again: npm run fuzz -- --seed ${seed} --index ${index}\n  ${JSON.stringify(input)}`,
  );
process.exitCode = report.failures.length > 0 ? 1 : 0;
