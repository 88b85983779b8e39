/**
 * A whole server in a process of its own, for others to measure: `server-process.ts <dataDir>`. Says where it listens,
 * for HTTP and as an etcd; collects its garbage when its parent sends `collect`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../../../src/server/index.ts';
import type { Fault } from './victim.ts';

const dataDir = process.argv[2]!;
const tokens = join(dataDir, 'tokens.csv');
writeFileSync(tokens, 'weak-token,weak,weak-uid\n', { mode: 0o600 });
const { url, etcdUrls, kubeconfigPath } = await startServer({
  dataDir,
  securePort: 0,
  durability: 'none',
  introspection: true,
  tokenAuthFile: tokens,
  auditLogPath: join(dataDir, 'audit.log'),
  etcdListenClientUrls: ['http://127.0.0.1:0'],
  log: (line) => {
    // Refusals are answers; this is what is logged when something was thrown that nobody meant to.
    if (line.startsWith('Cannot answer')) process.send!({ kind: 'fault', text: line } satisfies Fault);
  },
});
process.on('message', () => {
  global.gc?.();
  process.send!({ kind: 'collected' });
});
process.on('disconnect', () => process.exit());
process.send!({ kind: 'ready', url, etcdUrl: etcdUrls[0], kubeconfigPath });
