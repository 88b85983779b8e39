import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import type { Problem } from './health.ts';
import type { ManagerLog } from './manager-log.ts';
import { Watchdog } from './watchdog.ts';

function watched() {
  const lines: string[] = [];
  let problems: Problem[] = [];
  const log = {
    problem: (text: string) => lines.push(text),
    wellAgain: (about: string) => lines.push(`well: ${about}`),
  } as unknown as ManagerLog;
  const watchdog = new Watchdog({
    clock: new FakeClock(),
    log,
    problems: () => problems,
    controllers: () => [],
    isFatal: false,
    onStuck: () => {},
  });
  const look = (...texts: string[]) => {
    problems = texts.map((text) => ({ about: 'informer widgets', text }) as Problem);
    watchdog.look();
    return lines.splice(0);
  };
  return { look };
}

it('a problem is said once while it lasts, and when it ends', () => {
  const { look } = watched();
  expect(look(': syncing for 3 s')).toEqual(['informer widgets: syncing for 3 s']);
  expect(look(': syncing for 4 s')).toEqual([]);
  expect(look()).toEqual(['well: informer widgets']);
  expect(look(': syncing for 3 s')).toEqual(['informer widgets: syncing for 3 s']);
});

it('another reason is said too, each once, and not without end', () => {
  const { look } = watched();
  look(': syncing for 3 s');
  expect(look(': refused')).toEqual(['informer widgets: refused']);
  expect([look(': syncing for 5 s'), look(': refused')]).toEqual([[], []]);
  const letters = Array.from({ length: 20 }, (_, i) => `: ${String.fromCharCode(97 + i)}`);
  expect(letters.flatMap((text) => look(text))).toHaveLength(8);
});
