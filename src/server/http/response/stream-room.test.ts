import { expect, it } from 'vitest';
import { SeatTable } from '../../workers/seat-table.ts';
import { SharedBytes } from '../../workers/shared-bytes.ts';
import { StreamRoom } from './stream-room.ts';

const limits = { slowBytes: 4096, tightSlowBytes: 1024, totalSlowBytes: 64 * 1024 };

it('room is short for the streams of every thread once those of all together hold much', () => {
  const memory = SeatTable.memoryFor(2);
  const tables = [0, 1].map((thread) => new SeatTable(memory, thread, 2));
  const [one, other] = tables.map((table) => new StreamRoom(limits, SharedBytes.of(table, 'slow watches')));
  for (let i = 0; i < 50; i++) one!.change(1000);
  expect([one!.slowBytes, other!.slowBytes]).toEqual([4096, 4096]);
  for (let i = 0; i < 20; i++) other!.change(1000);
  expect([one!.slowBytes, other!.slowBytes]).toEqual([1024, 1024]);
  for (let i = 0; i < 10; i++) one!.change(-1000);
  expect([one!.isShort, other!.isShort]).toEqual([false, false]);
  for (let i = 0; i < 20; i++) one!.change(1000);
  tables[0]!.release(1);
  expect(one!.isShort).toBe(false);
});
