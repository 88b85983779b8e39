/** `npm run fuzz -- --seconds N --seed S`: random input against a server of its own, see test/fuzz/fuzz-process.ts. */
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();
run(process.execPath, ['--import', 'tsx', 'test/fuzz/fuzz-process.ts', ...process.argv.slice(2)]);
