/** `npm run fault-schedules` as a test runs it: one process, whose output is the evidence. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SCRIPT = fileURLToPath(new URL('../../../../scripts/fault-schedules.mjs', import.meta.url));
const MAX_BYTES = 64 * 1024 * 1024;

/** What it printed of schedules, whether all was well or not: where sources have changed it begins with telling that it builds. */
export async function runSchedules(first: number, count: number, ...flags: string[]): Promise<string> {
  const args = [SCRIPT, String(count), '--first', String(first), '--processes', '1', ...flags];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: MAX_BYTES }).catch(
    (error: { stdout?: string; message: string }) => ({ stdout: error.stdout || error.message }),
  );
  return stdout.replace(/^longwatch: .*\n/gm, '');
}
