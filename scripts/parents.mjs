/**
 * Notices when the npm that started this process is gone. npm runs a script through a shell, passes some signals on to
 * that shell only, and none when it is killed: the script would go on without anybody to stop it.
 *
 * Looked at twice a second, which costs nothing to speak of; without npm nothing is looked at.
 */
import { readFileSync } from 'node:fs';

const EVERY_MS = 500;

export function onOrphaned(tell) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const born = lineage();
  const timer = setInterval(() => {
    if (lineage().join() === born.join()) return;
    clearInterval(timer);
    tell();
  }, EVERY_MS);
  timer.unref();
}

/** The parent; and its parent too if it is a shell, which would stay when npm goes. */
function lineage() {
  const parent = process.ppid;
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const grandparent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    return /^(ba|da|z|k)?sh$|^busybox$/.test(name) ? [parent, grandparent] : [parent];
  } catch {
    return [parent]; // only Linux tells more
  }
}
