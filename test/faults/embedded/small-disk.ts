/** A disk that can be told how much room is left: what does not fit is written as far as it does, and fails. */
import * as fs from 'node:fs/promises';
import type { Disk } from '../../../src/client/checkpoint/checkpoint-file.ts';

/** `left` is in bytes. */
export function smallDisk(): Disk & { left: number } {
  const disk = {
    ...{ left: Number.POSITIVE_INFINITY, rename: fs.rename, rm: fs.rm, mkdir: fs.mkdir },
    open: (async (...args: Parameters<typeof fs.open>) => {
      const handle = await fs.open(...args);
      const write = handle.write.bind(handle) as (
        ...rest: [Buffer, number, number, number]
      ) => Promise<{ bytesWritten: number }>;
      handle.write = (async (bytes: Buffer, from: number, length: number, position: number) => {
        const fits = Math.min(length, disk.left);
        disk.left -= fits;
        if (fits < length) {
          await write(bytes, from, fits, position);
          throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', syscall: 'write' });
        }
        return write(bytes, from, length, position);
      }) as typeof handle.write;
      return handle;
    }) as typeof fs.open,
  };
  return disk;
}
