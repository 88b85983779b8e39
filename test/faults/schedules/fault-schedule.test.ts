/** What fault schedules are made of: every misfortune that the client is to withstand is drawn often enough to be one. */
import { describe, expect, it } from 'vitest';
import { CALLBACKS, MISBEHAVIOURS } from './fault-operator.ts';
import { type Step, scheduleOf } from './fault-schedule.ts';

const schedules = Array.from({ length: 2_000 }, (_, i) =>
  scheduleOf(i + 1, { loses: true, isSetBack: true, isSimulated: true }),
);

function countOf(fits: (step: Step) => boolean): number {
  return schedules.filter(({ steps }) => steps.some(fits)).length;
}

describe('of 2,000 simulated schedules, at least', () => {
  it.each<[least: number, what: string, fits: (step: Step) => boolean]>([
    [100, 'have data lost and overtaken', (step) => step.do === 'lose' && step.isOvertaking],
    [100, 'have data lost and not overtaken', (step) => step.do === 'lose' && !step.isOvertaking],
    [100, 'have an older backup with bumped revisions', (step) => step.do === 'set back' && step.bump > 0],
    [100, 'have an older backup without', (step) => step.do === 'set back' && step.bump === 0],
    [80, 'have two servers behind one address', (step) => step.do === 'flip' && step.isCut],
    [80, 'have two, and some stay connected', (step) => step.do === 'flip' && !step.isCut],
    [50, 'have a handler that hangs', (step) => step.do === 'handler' && step.action === 'hung'],
    [100, 'have tokens that expire', (step) => step.do === 'rotate token'],
    [100, 'have a disk full under a checkpoint', (step) => step.do === 'fill disk'],
    [100, 'have a process killed', (step) => step.do === 'restart client' && step.isKilled],
    [100, 'have wall clocks that jump', (step) => step.do === 'set clock'],
    [50, 'have a machine that sleeps', (step) => step.do === 'suspend'],
    [100, 'have history compacted', (step) => step.do === 'compact'],
    [100, 'have streams that fall silent', (step) => step.do === 'stall'],
  ])('%i %s', (least, _what, fits) => expect(countOf(fits)).toBeGreaterThanOrEqual(least));

  it.each(CALLBACKS.flatMap((callback) => MISBEHAVIOURS.map((how) => [callback, how] as const)))(
    '10 have a %s that %s',
    (callback, how) =>
      expect(
        countOf((step) => step.do === 'misbehave' && step.callback === callback && step.how === how),
      ).toBeGreaterThanOrEqual(10),
  );
});
