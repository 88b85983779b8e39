/**
 * A file that is there while a server is ready: whoever starts one waits for it, whoever supervises it looks for it.
 *
 * Always true: it appears whole, and goes before the server does. One that an earlier process left is removed at the start.
 * It is for its owner only, for it says where the kubeconfig lies.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';

export type ReadyFile = { write(facts: object): void; remove(): void };

export function readyFile(file: string | undefined): ReadyFile {
  if (file === undefined) return { write: () => {}, remove: () => {} };
  const remove = () => rmSync(file, { force: true });
  remove();
  return {
    write(facts) {
      const draft = `${file}.${process.pid}`;
      writeFileSync(draft, `${JSON.stringify(facts)}\n`, { mode: 0o600 });
      renameSync(draft, file);
    },
    remove,
  };
}
