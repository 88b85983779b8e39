/**
 * `npm run check`: says whether the tree is good. Each line is one question; the first "no" ends it.
 * `--no-tests` leaves the tests out, for a run that has had them already.
 */
import { ensureBuilt, run, say, tool } from './setup.mjs';

const steps = [
  ['format and lint', 'biome', tool.bind(null, '@biomejs/biome'), ['check', '--error-on-warnings', '.']],
  ['types of tests and benchmarks', 'tsc', tool.bind(null, 'typescript'), ['-p', 'tsconfig.test.json']],
  ['types of the page', 'tsc', tool.bind(null, 'typescript'), ['-p', 'src/page']],
  ['types of examples', 'tsc', tool.bind(null, 'typescript'), ['-p', 'examples']],
  ['unused files, exports and dependencies', 'knip', tool.bind(null, 'knip'), []],
  ['package contents', 'publint', tool.bind(null, 'publint'), ['--strict']],
  ['package types', 'attw', tool.bind(null, '@arethetypeswrong/cli'), ['--pack', '.', '--profile', 'esm-only']],
];

ensureBuilt();
for (const [question, command, locate, args] of steps) {
  say(`checking ${question} (${command})`);
  run(process.execPath, [locate(command), ...args]);
}
say('checking regular expressions (recheck)');
run(process.execPath, ['scripts/check-patterns.mjs']);
say('checking who tells the time (scripts/check-clock.mjs)');
run(process.execPath, ['scripts/check-clock.mjs']);
say('checking the order of the rooms (scripts/check-rooms.mjs)');
run(process.execPath, ['scripts/check-rooms.mjs']);
say('checking generated code (scripts/generate-*.mjs --check)');
run(process.execPath, ['scripts/check-generated.mjs']);
if (!process.argv.includes('--no-tests')) run(process.execPath, ['scripts/test.mjs']);
say('the tree is good');
