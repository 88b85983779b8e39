/**
 * Files and folders that only their owner can read: objects may be secrets, so everything the store and the server ever
 * write is made through here, or names these modes itself (test/docs/private-files.test.ts looks for both).
 *
 * Always true: whatever the umask, nobody else gets a right; what others made and left open is not touched. Folders are
 * made one by one: Node's own `recursive` never comes back where a file system answers ENOENT for a folder whose parent
 * is there, as /proc does.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
/** For source text that a verb writes into somebody's project: nothing of a cluster's objects is in it. */
export const SOURCE_FILE = 0o644;

/** With those above it. Throws what the system says, ENOTDIR or EEXIST where something else stands in the way. */
export function makePrivateFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = folder; !isFolder(at); at = dirname(at)) {
    missing.push(at);
    if (dirname(at) === at) break;
  }
  for (const one of missing.reverse()) {
    try {
      mkdirSync(one, PRIVATE_FOLDER);
    } catch (err) {
      if (!isFolder(one)) throw err; // else another was faster
    }
  }
}

/** Also through a link; false where nothing is, or where one may not look. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}
