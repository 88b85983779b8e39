import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SmallSet } from './small-set.ts';

const members = Array.from({ length: 4 }, (_, i) => ({ i }));

it('SmallSet is a set, in the order in which members came', () => {
  const step = fc.record({ isAdded: fc.boolean(), at: fc.nat(members.length - 1) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const small = new SmallSet<(typeof members)[0]>();
      const whole = new Set<(typeof members)[0]>();
      for (const { isAdded, at } of steps) {
        const member = members[at]!;
        if (isAdded) {
          small.add(member);
          whole.add(member);
        } else expect(small.delete(member)).toBe(whole.delete(member));
        expect([...small]).toEqual([...whole]);
        expect(small.size).toBe(whole.size);
      }
    }),
  );
});
