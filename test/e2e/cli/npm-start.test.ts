/** `npm start` as a terminal or a supervisor runs it: whoever stops npm has stopped the server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ServeCommand } from './serve-command.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s to npm stops the server cleanly, also through a shell that stays',
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'longwatch-npm-'));
    try {
      const flags = ['--secure-port', '0', '--data-dir', join(folder, 'data')];
      await using npm = new ServeCommand(flags, { command: ['npm', '--prefix', root, 'start', '--'] });
      await npm.ready();
      npm.child.kill(signal);
      await npm.exited; // when the last process is gone that holds the pipe
      expect(() => readFileSync(join(folder, 'data', 'store', 'LOCK'))).toThrow(/ENOENT/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
