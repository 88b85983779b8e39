/** `longwatch lab`: every experiment breaks something for real, and sees what it promised. */
import { describe, expect, it } from 'vitest';
import { EXPERIMENTS, lab } from '../../../src/cli/commands/lab/lab-command.ts';
import { runToEnd } from '../../support/cli/test-io.ts';

describe('longwatch lab', () => {
  it('lists its five experiments', async () => {
    const { code, lines, err } = await runToEnd(lab(undefined, {}));
    expect({ code, names: lines.map((line) => line.split(' ')[0]) }).toEqual({
      code: 0,
      names: ['small-window', 'slow-client', 'restart-storm', 'slow-handler', 'half-open'],
    });
    expect(err).toContain('longwatch lab small-window');
  });

  it('one that is not there is refused with those that are', async () => {
    expect(await runToEnd(lab('no', {}))).toMatchObject({ code: 2, err: expect.stringContaining('half-open') });
  });

  it.each(EXPERIMENTS.map(({ name }) => name))(
    '%s sees what it promised',
    async (name) => {
      const { code, out, err } = await runToEnd(lab(name, {}));
      expect({ code, err: /NOT SEEN|Error/.test(err + out) }, err + out).toEqual({ code: 0, err: false });
      expect(out).toContain('with the remedy');
      expect(out.match(/^ {2}seen {4}/gm)?.length).toBeGreaterThanOrEqual(2);
    },
    120_000,
  );
});
