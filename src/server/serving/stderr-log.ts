/**
 * The log of a server that was given no other: lines on stderr. A reader that went away or a full disk behind it costs
 * the line, never the server.
 */

let isGuarded = false;

export function logToStderr(line: string): void {
  if (!isGuarded) {
    isGuarded = true;
    process.stderr.on('error', () => {}); // a closed pipe is told this way, a full disk is thrown
  }
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // there is nobody left to tell
  }
}
