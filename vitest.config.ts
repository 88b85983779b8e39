/** Unit tests sit beside the code; test/ holds what runs against real parts. Forks, not threads: lmdb wants one thread. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/closing-reporter.ts'],
  },
});
