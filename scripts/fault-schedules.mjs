/** `npm run fault-schedules -- 10000`: so many simulated fault schedules, of the seeds from 1 on; 10,000 without a number. */
import { ensureInstalled, run, tool } from './setup.mjs';

const wanted = process.argv[2] ?? '10000';
if (!/^[1-9][0-9]*$/.test(wanted)) {
  console.error(`Cannot run fault schedules: "${wanted}" is no number`);
  process.exit(2);
}
ensureInstalled();
process.env.FAULT_SCHEDULES = wanted;
run(process.execPath, [tool('vitest', 'vitest'), 'run', 'test/faults/simulated']);
