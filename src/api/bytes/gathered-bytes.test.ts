import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';

describe('bytes in pieces', () => {
  it('are whole again, however they were cut, and again after they were taken', () => {
    const gathered = new GatheredBytes(10_000);
    const pieces = fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (cut) => {
        for (const piece of cut) expect(gathered.add(piece)).toBe(true);
        expect(gathered.length).toBe(cut.reduce((sum, { length }) => sum + length, 0));
        expect([...gathered.take()]).toEqual(cut.flatMap((piece) => [...piece]));
        expect(gathered.length).toBe(0);
      }),
    );
  });

  it('are kept up to the limit, and not a byte beyond it', () => {
    const gathered = new GatheredBytes(300);
    expect(gathered.add(new Uint8Array(299).fill(7))).toBe(true);
    expect(gathered.add(new Uint8Array(2))).toBe(false);
    expect(gathered.add(new Uint8Array([8]))).toBe(true);
    expect(gathered.add(new Uint8Array([9]))).toBe(false);
    const taken = gathered.take();
    expect([taken.length, taken[298], taken[299]]).toEqual([300, 7, 8]);
  });

  it('that were taken are not written to by what comes next', () => {
    const gathered = new GatheredBytes(1000);
    gathered.add(new Uint8Array([1, 2]));
    const taken = gathered.take();
    gathered.add(new Uint8Array([3, 4]));
    expect([...taken]).toEqual([1, 2]);
  });

  it('are text as they are, also where a character was cut in two, and with a mark of byte order', () => {
    const gathered = new GatheredBytes(1000);
    for (const byte of new TextEncoder().encode('\ufeffgrün')) gathered.add(new Uint8Array([byte]));
    expect(gathered.takeText()).toBe('\ufeffgrün');
  });
});
