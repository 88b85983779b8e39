/** A benchmark that hung when its time was over ended the whole run, without a word and with code 13. */
import { expect, it } from 'vitest';
import { runBounded } from '../../bench/lib/bounded.ts';

const never = new AbortController().signal;

it('a benchmark that waits for ever is over when its limit is, and it is told in words', async () => {
  const hanging = runBounded('slow', { limitMs: 20, signal: never }, () => new Promise(() => {}));
  await expect(hanging).rejects.toMatchObject({
    message: 'Cannot finish benchmark "slow"',
    cause: { message: 'Cannot finish within 0.02 s' },
  });
});

it('one that is stopped from outside says why, and one that fails says that', async () => {
  const stop = new AbortController();
  const hanging = runBounded('slow', { limitMs: 60_000, signal: stop.signal }, () => new Promise(() => {}));
  stop.abort(new Error('SIGINT was received'));
  await expect(hanging).rejects.toMatchObject({ cause: { message: 'SIGINT was received' } });
  const failing = runBounded('bad', { limitMs: 60_000, signal: never }, () => Promise.reject(new Error('no disk')));
  await expect(failing).rejects.toMatchObject({ cause: { message: 'no disk' } });
});
