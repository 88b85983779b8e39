/**
 * Unit tests sit beside the code; test/ holds what runs against real parts. Forks, not threads: lmdb wants one thread.
 * Tests that measure come last, one file at a time: what they measure is the server, not the tests beside them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const measuring = [
  ...['test/stall/**/*.test.ts', 'test/fuzz/**/*.test.ts', 'test/support/**/*.test.ts'],
  ...['src/**/program-cost.test.ts', ...testsThatMeasureGrowth()],
];

/** By what they import, so that nobody has to think of this list. */
function testsThatMeasureGrowth(): string[] {
  const root = fileURLToPath(new URL('.', import.meta.url));
  const tests = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => join(folder, file)),
  );
  return tests.filter((file) =>
    /from '[./]+(?:test\/)?support\/growth\.ts'/.test(readFileSync(join(root, file), 'utf8')),
  );
}

export default defineConfig({
  // Examples speak through the doors of the package; tests of them run what is in src/, not what was built last.
  resolve: {
    alias: [
      {
        find: /^longwatch\/(\w+)\/(\w+)$/,
        replacement: fileURLToPath(new URL('src/$1/$2.ts', import.meta.url)),
      },
      { find: /^longwatch\/(\w+)$/, replacement: fileURLToPath(new URL('src/$1/index.ts', import.meta.url)) },
    ],
  },
  test: {
    pool: 'forks',
    // Nothing to do without a seed, and most files of tests have no properties.
    setupFiles: process.env.TEST_SEED === undefined ? [] : ['test/support/property-seed.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: measuring,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'measures', include: measuring, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
    reporters: ['default', './test/closing-reporter.ts'],
  },
});
