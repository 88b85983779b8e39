/** Unit tests sit beside the code; test/ holds what runs against real parts. Forks, not threads: lmdb wants one thread. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Examples speak through the doors of the package; tests of them run what is in src/, not what was built last.
  resolve: {
    alias: [
      {
        find: /^longwatch\/(\w+)\/advanced$/,
        replacement: fileURLToPath(new URL('src/$1/advanced.ts', import.meta.url)),
      },
      { find: /^longwatch\/(\w+)$/, replacement: fileURLToPath(new URL('src/$1/index.ts', import.meta.url)) },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/closing-reporter.ts'],
  },
});
