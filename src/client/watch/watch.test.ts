import { expect, it } from 'vitest';
import { systemClock } from '../../api/index.ts';
import { pods } from '../objects/generated/core-v1.ts';
import type { Transport } from '../transport/transport.ts';
import { watch, watchBatches } from './watch.ts';

const event = (name: string) => `{"type":"ADDED","object":{"metadata":{"name":"${name}","resourceVersion":"1"}}}\n`;
const refusal = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}\n';

/** A transport whose only answer is these pieces. */
function answering(...pieces: string[]): Transport {
  async function* chunks() {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const observers = { isEmpty: true, tell: () => {} };
  const stream = async () => ({ code: 200, headers: {}, chunks: chunks(), close: () => {} });
  return { clock: systemClock, access: { namespace: 'default' }, observers, stream } as unknown as Transport;
}

it('events that come in one piece are one batch, and one that is cut comes with its end', async () => {
  const [first, second] = [event('c').slice(0, 20), event('c').slice(20)];
  const got: string[][] = [];
  for await (const batch of watchBatches(answering(event('a') + event('b') + first, second, '\n'), pods))
    got.push(batch.map(({ object }) => ('name' in object.metadata ? object.metadata.name : '')));
  expect(got).toEqual([['a', 'b'], ['c']]);
});

it.each([
  ['a refusal', refusal, { name: 'ApiError', code: 410 }],
  ['nonsense', 'nonsense\n', { name: 'TransportError', phase: 'body' }],
])('what came before %s in the same piece is delivered first', async (_what, end, complaint) => {
  const got: string[] = [];
  const read = async () => {
    for await (const { type } of watch(answering(event('a') + event('b') + end), pods)) got.push(type);
  };
  await expect(read()).rejects.toMatchObject(complaint);
  expect(got).toEqual(['ADDED', 'ADDED']);
});

it('after an abort nothing is delivered, not even what is here already', async () => {
  const stop = new AbortController();
  const events = watch(answering(event('a') + event('b')), pods, { signal: stop.signal });
  expect((await events.next()).value).toMatchObject({ type: 'ADDED' });
  stop.abort(new Error('enough'));
  await expect(events.next()).rejects.toThrow('enough');
});
