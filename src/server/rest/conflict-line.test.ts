import { expect, it } from 'vitest';
import { ConflictLine } from './conflict-line.ts';

class Timers {
  readonly acts = new Set<() => void>();

  readonly after = (_ms: number, act: () => void): (() => void) => {
    this.acts.add(act);
    return () => this.acts.delete(act);
  };

  /** The time of all who have some is over. */
  run(): void {
    for (const act of [...this.acts]) {
      this.acts.delete(act);
      act();
    }
  }
}

function lineWith(mostWaiting?: number) {
  const timers = new Timers();
  const line = new ConflictLine({ after: timers.after, ...(mostWaiting !== undefined && { mostWaiting }) });
  const told: string[] = [];
  const refuse = async (key: string, who: string) => {
    await line.turn(key);
    told.push(who);
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { timers, line, told, refuse, settled };
}

it('tells the first at once, and the next each time the object was written', async () => {
  const { line, told, refuse, settled } = lineWith();
  for (const who of ['one', 'two', 'three']) void refuse('a', who);
  void refuse('b', 'of another');
  await settled();
  expect(told).toEqual(['one', 'of another']);
  line.written('a');
  await settled();
  expect(told).toEqual(['one', 'of another', 'two']);
  line.written('a');
  await settled();
  expect(told.at(-1)).toBe('three');
});

it('tells the next when the one before has not written in its time', async () => {
  const { timers, told, refuse, settled } = lineWith();
  for (const who of ['one', 'two', 'three']) void refuse('a', who);
  await settled();
  timers.run();
  await settled();
  expect(told).toEqual(['one', 'two']);
  timers.run();
  await settled();
  expect(told).toEqual(['one', 'two', 'three']);
});

it('keeps nobody waiting behind many, and remembers nothing of a line that is empty', async () => {
  const { timers, line, told, refuse, settled } = lineWith(1);
  for (const who of ['one', 'two', 'three']) void refuse('a', who);
  await settled();
  expect(told).toEqual(['one', 'three']);
  line.written('a');
  line.written('a');
  line.written('a');
  await settled();
  expect(told).toEqual(['one', 'three', 'two']);
  expect(timers.acts.size).toBe(0);
  void refuse('a', 'much later');
  await settled();
  expect(told.at(-1)).toBe('much later');
});
