/** A write that never waits pays for nothing that only who waits needs. */
import { expect, it } from 'vitest';
import { mergePatch } from '../../../src/client/index.ts';
import { pods } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';

it('a request that is answered at once has no signal made for it', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const all = client.resource(pods);
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await all.create({ metadata: { name: 'first' }, spec });
  const real = globalThis.AbortController;
  const makers: string[] = [];
  globalThis.AbortController = class extends real {
    constructor() {
      super();
      makers.push(new Error('made').stack ?? '');
    }
  };
  try {
    const made = await all.create({ metadata: { name: 'second' }, spec });
    await all.update({ ...made, metadata: { ...made.metadata, labels: { a: 'b' } } });
    await all.patch('second', mergePatch({ metadata: { labels: { a: 'c' } } }));
    await all.apply({ metadata: { name: 'second', labels: { b: 'c' } } }, { fieldManager: 'test' });
  } finally {
    globalThis.AbortController = real;
  }
  // Cold code on a busy machine may have to give way to others: who pauses does wait.
  const isIdle = (stack: string) => stack.includes('http-request-context') && !stack.includes('work-slices');
  expect(makers.filter(isIdle)).toEqual([]);
});
