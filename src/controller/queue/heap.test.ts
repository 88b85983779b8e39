import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Heap } from './heap.ts';

it('a heap gives the least first, whatever was moved and removed before', () => {
  const step = fc.record({ kind: fc.constantFrom('push', 'push', 'pop', 'remove', 'move'), value: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const heap = new Heap<{ value: number; place: number }>((a, b) => a.value < b.value);
      const items: { value: number; place: number }[] = [];
      const drop = (item: { value: number; place: number }) => {
        items.splice(items.indexOf(item), 1);
        expect(item.place).toBe(-1);
      };
      for (const { kind, value } of steps) {
        const chosen = items[value % items.length];
        if (kind === 'push') {
          const item = { value, place: -1 };
          heap.push(item);
          items.push(item);
        } else if (kind === 'pop') {
          const item = heap.pop();
          if (item) drop(item);
        } else if (chosen && kind === 'remove') {
          heap.remove(chosen);
          drop(chosen);
        } else if (chosen) {
          chosen.value = value;
          heap.moved(chosen);
        }
        expect(heap.size).toBe(items.length);
        expect(heap.peek()?.value).toBe(items.length ? Math.min(...items.map((item) => item.value)) : undefined);
      }
    }),
  );
});
