/**
 * What the disk's part of one commit costs by itself: pages of a file written and flushed, and then a few bytes that say so, flushed
 * too, as lmdb does it, with no store and no server. CPU of this process, nearly all of it the kernel's.
 */
import { closeSync, constants, fdatasyncSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PAGE_BYTES = 16 * 1024;
const PAGES = 4;
const PAGES_THERE = 256;
const META_BYTES = 128;

/** In µs: one after the other, and with a pause before each. */
export async function commitFloor(count: number, pauseMs: number, signal: AbortSignal): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-floor-'));
  const path = join(folder, 'data');
  const pages = openSync(path, 'w+');
  const meta = openSync(path, constants.O_WRONLY | constants.O_DSYNC);
  try {
    const page = Buffer.alloc(PAGE_BYTES, 1);
    for (let i = 0; i < PAGES_THERE; i++) writeSync(pages, page, 0, PAGE_BYTES, i * PAGE_BYTES);
    fsyncSync(pages);
    let micros = 0;
    for (let i = 0; i < count; i++) {
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
      const before = process.cpuUsage();
      for (let n = 0; n < PAGES; n++)
        writeSync(pages, page, 0, PAGE_BYTES, (1 + ((i * PAGES + n * 7) % (PAGES_THERE - 1))) * PAGE_BYTES);
      fdatasyncSync(pages);
      writeSync(meta, page, 0, META_BYTES, 0);
      const { user, system } = process.cpuUsage(before);
      micros += user + system;
    }
    return micros / count;
  } finally {
    closeSync(pages);
    closeSync(meta);
    rmSync(folder, { recursive: true });
  }
}
