/**
 * What the runtime leaves to a client: a TLS socket whose bytes are looked at only to find the newlines. No HTTP, no
 * JSON, no copy. Whatever a client does is on top of this.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import type { Job } from '../client-jobs.ts';
import type { Jobs } from './client-child.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

export async function bareJobs({ kubeconfig }: Job): Promise<Jobs> {
  const port = Number(/server: https:\/\/127\.0\.0\.1:(\d+)/.exec(readFileSync(kubeconfig, 'utf8'))![1]);
  return {
    watch: async (job, seen) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
      socket.write('GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: server\r\n\r\n');
      let version = job.pods;
      let isHead = true;
      let before: number | undefined;
      socket.on('data', (chunk: Buffer) => {
        let at = isHead ? chunk.indexOf('\r\n\r\n') + 4 : 0;
        isHead = false;
        // Each event ends with its own newline and with that of its chunk, and is led by that of the chunk's length.
        for (at = chunk.indexOf(NEWLINE, at); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
          if ((at === 0 ? before : chunk[at - 1]) !== CARRIAGE_RETURN) seen(++version);
        }
        before = chunk[chunk.length - 1];
      });
    },
  };
}
