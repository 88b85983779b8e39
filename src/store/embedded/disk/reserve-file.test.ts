import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDir } from '../../../../test/support/temporary-dir.ts';
import { RESERVE_BYTES, ReserveFile } from './reserve-file.ts';

it('is made whole, and given back', async () => {
  await using dir = await temporaryDir();
  const file = join(dir.path, 'RESERVE');
  const reserve = new ReserveFile(file);
  await reserve.make();
  expect([reserve.isHeld, statSync(file).size, statSync(file).mode & 0o777]).toEqual([true, RESERVE_BYTES, 0o600]);
  expect([reserve.giveBack(), reserve.isHeld, existsSync(file)]).toEqual([true, false, false]);
  expect(reserve.giveBack()).toBe(false);
});

it('is not held when it was given back while it was made', async () => {
  await using dir = await temporaryDir();
  const file = join(dir.path, 'RESERVE');
  const reserve = new ReserveFile(file);
  const made = reserve.make();
  while ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0)
    await new Promise<void>((resolve) => setImmediate(resolve));
  expect(reserve.giveBack()).toBe(true);
  await made;
  expect([reserve.isHeld, existsSync(file)]).toEqual([false, false]);
  await reserve.make();
  expect([reserve.isHeld, statSync(file).size]).toEqual([true, RESERVE_BYTES]);
});
