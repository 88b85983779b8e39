/**
 * `npm start -- ARGS`: sets up what is missing, then runs the command line in this very process. Without a command it
 * serves, so `npm start` and `npm start -- --secure-port 0` do what one expects.
 *
 * It does not outlive npm: whoever stops npm, by whatever signal, means the server.
 */
import { pathToFileURL } from 'node:url';
import { onOrphaned } from './parents.mjs';
import { ensureServable } from './setup.mjs';

onOrphaned(() => process.kill(process.pid, 'SIGTERM'));
const program = ensureServable();
performance.mark('set up'); // from here on it is the server that takes time
const [first] = process.argv.slice(2);
if (first === undefined || (first.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(first)))
  process.argv.splice(2, 0, 'serve');
process.argv[1] = program;
await import(pathToFileURL(process.argv[1]).href);
