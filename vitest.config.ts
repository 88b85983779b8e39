/**
 * Unit tests sit beside the code; test/ holds what runs against real parts. Forks, not threads: lmdb wants one thread.
 * Tests that measure come last, one file at a time: what they measure is the server, not the tests beside them.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const measuring = [
  ...['test/stall/**/*.test.ts', 'test/fuzz/**/*.test.ts', 'test/support/**/*.test.ts'],
  ...['src/**/*-growth.test.ts', 'src/**/program-cost.test.ts', 'src/**/rule-costs.test.ts'],
];

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
