import type { MessagePort } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { Outbox } from './outbox.ts';

function gathered(): { readonly out: Outbox<number>; readonly messages: number[][] } {
  const messages: number[][] = [];
  const port = { postMessage: (message: number[]) => void messages.push(message) };
  return { out: new Outbox<number>(port as unknown as MessagePort), messages };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

it('what the promises of one moment post leaves as one message, without waiting for the end of the turn', async () => {
  const { out, messages } = gathered();
  out.post(1);
  void Promise.resolve()
    .then(() => out.post(2))
    .then(() => out.post(3));
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(messages).toEqual([[1, 2, 3]]);
});

it('what callbacks post later in the same turn leaves together at its end, in order', async () => {
  const { out, messages } = gathered();
  for (const order of [1, 2, 3, 4]) setImmediate(() => out.post(order));
  await nextTurn();
  expect(messages).toEqual([[1]]);
  await nextTurn();
  expect(messages).toEqual([[1], [2, 3, 4]]);
});

it('a turn in which nothing was posted makes the next one quick again', async () => {
  const { out, messages } = gathered();
  out.post(1);
  await nextTurn();
  await nextTurn();
  out.post(2);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(messages).toEqual([[1], [2]]);
});

it('closing sends what waits, and nothing after it', async () => {
  const { out, messages } = gathered();
  out.post(1);
  out.close();
  out.post(2);
  await nextTurn();
  expect(messages).toEqual([[1]]);
});
