import { expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('time stands still for work that tells its end, and the loop is not turned until it comes', async () => {
  const clock = new VirtualClock();
  let [asked, isDone] = [0, false];
  const work = (async () => {
    for (let turn = 0; turn < 500; turn++) await nextTurn();
    isDone = true;
  })();
  clock.waitFor(
    () => {
      asked++;
      return !isDone;
    },
    () => work,
  );
  const woken = clock.sleep(1000).then(() => isDone);
  await clock.advance(1000);
  expect(await woken).toBe(true);
  expect(asked).toBeLessThan(50);
});

it('work that only says whether it goes on is asked again and again', async () => {
  const clock = new VirtualClock();
  let left = 100;
  const forget = clock.waitFor(() => left-- > 0);
  await clock.settle();
  expect(left).toBeLessThan(0);
  forget();
});
