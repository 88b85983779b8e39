/** A server in a process of its own, for a test to kill: `server-process.ts <dataDir>`. Says where it listens. */
import { startServer } from '../../../src/server/index.ts';

const { url } = await startServer({ dataDir: process.argv[2]!, securePort: 0 });
process.stdout.write(`${url}\n`);
