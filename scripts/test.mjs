/** `npm test -- VITEST ARGS`: sets up what is missing, then runs the tests. */
import { ensureBuilt, run, tool } from './setup.mjs';

ensureBuilt();
run(process.execPath, [tool('vitest', 'vitest'), 'run', ...process.argv.slice(2)]);
