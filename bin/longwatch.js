#!/usr/bin/env node
/** The command: looks at the version of Node, then loads the program, which an old one could not. */
import './node-version.cjs';

await import('../dist/bundle/cli.js');
