import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isStatusError } from '../../api/index.ts';
import type { ByteStream, RequestContext } from '../request/request-context.ts';
import { snapshotHandler } from './store-snapshot.ts';

/** Asks for snapshots over a connection that takes nothing. */
function asking(stallMs: number) {
  const files: string[] = [];
  const store = {
    status: async () => ({ sizeInUseBytes: 3 }),
    snapshot: async (file: string) => {
      writeFileSync(file, 'all');
      files.push(file);
    },
  };
  const stream = { write: () => false, onDrain: () => {}, onClose: () => {}, end: () => {} } as unknown as ByteStream;
  const context = {
    path: '/longwatch/snapshot',
    method: 'GET',
    user: { username: 'admin', groups: [] },
    signal: new AbortController().signal,
    stream: () => stream,
    initialised: () => {},
  } as unknown as RequestContext;
  const handle = snapshotHandler({ store, authorizer: { authorize: () => ({ allowed: true }) }, stallMs });
  return { ask: () => handle(context), files };
}

it('a client that takes nothing of its snapshot is cut off, and the file goes', async () => {
  const { ask, files } = asking(1);
  await expect(ask()).rejects.toSatisfy((err) => isStatusError(err, 'Timeout'));
  expect(files).toHaveLength(1);
  expect(() => writeFileSync(files[0]!, '')).toThrow('ENOENT');
});

it('of many snapshots at once the fifth is told to come again', async () => {
  const { ask } = asking(50);
  const asked = [ask(), ask(), ask(), ask()];
  await expect(ask()).rejects.toSatisfy((err) => isStatusError(err, 'TooManyRequests'));
  await Promise.allSettled(asked);
  await expect(ask()).rejects.toSatisfy((err) => isStatusError(err, 'Timeout')); // there is room again
});
