/** `npm run stall`: the stall budget over every field of every kind, instead of the few that the tests take. */
import { ensureInstalled, run, tool } from './setup.mjs';

ensureInstalled();
const args = process.argv.slice(2);
run(process.execPath, [tool('vitest', 'vitest'), 'run', ...(args.length > 0 ? args : ['test/stall'])], {
  STALL_SWEEP: '1',
});
