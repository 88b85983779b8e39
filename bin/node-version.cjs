/**
 * Refuses a Node that is too old, before anything is loaded that it could not read: so this file is as old in its words
 * as it can be, and everything that starts (`bin/`, `scripts/`) loads it first. What is asked for stands in package.json.
 */
'use strict';

function parts(version) {
  return version
    .replace(/^>=\s*/, '')
    .split('.')
    .map(Number);
}

var wanted = parts(require('../package.json').engines.node);
var found = parts(process.versions.node);

var needed = `Node ${wanted.join('.')} or newer is needed, and this is Node ${process.versions.node}`;

if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  console.error(`longwatch: ${needed} (${process.execPath}); install a newer one, for example from https://nodejs.org`);
  process.exit(1);
}
