/** `npm run bench -- NAME...`: runs the benchmarks of bench/, all or the named ones, and prints ratios. */
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();
run(process.execPath, ['--import', 'tsx', '--expose-gc', 'bench/main.ts', ...process.argv.slice(2)]);
