/** `npm start -- ARGS`: sets up what is missing, then runs the command line in this very process. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, root } from './setup.mjs';

ensureBuilt();
process.argv[1] = join(root, 'dist', 'cli', 'main.js');
await import(pathToFileURL(process.argv[1]).href);
