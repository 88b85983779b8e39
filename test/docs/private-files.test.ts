/**
 * No file is made that others may read: every call in `src/` that can make a file or a folder either only reads, or names
 * the mode of a private one. A new call that forgets it fails here, before it leaks anything.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** Of node:fs and node:fs/promises, all that can make something. Streams and copies take no place here: nobody needs them. */
const MAKERS = [
  ...['open', 'openSync', 'writeFile', 'writeFileSync', 'appendFile', 'appendFileSync', 'mkdir', 'mkdirSync'],
  ...['createWriteStream', 'copyFile', 'copyFileSync', 'cp', 'cpSync'],
];
/** `mkdtemp` makes folders of mode 0700 by itself; a handle that is open has its mode already. */
const CALL = new RegExp(`(?<![\\w#])((?:[\\w#]+\\.)*)(${MAKERS.join('|')})\\(`, 'g');
const FILE_SYSTEMS = /^(fs|disk|this\.#disk)\.$/;

/** Files of the user's own, at a place and with a mode that the user has asked for: copies out of a container. */
const OF_THE_USER = ['client/pods/tar/unpack-tar.ts'];

/** From an opening bracket to the one that closes it. */
function argumentsAt(text: string, from: number): string {
  let depth = 1;
  let end = from;
  while (depth > 0 && end < text.length) {
    if ('([{'.includes(text[end]!)) depth++;
    if (')]}'.includes(text[end]!)) depth--;
    end++;
  }
  return text.slice(from, end - 1);
}

/** Which calls of a file make something that is not private. */
function openCalls(text: string): string[] {
  const imported = [...text.matchAll(/import \{([^}]*)\} from 'node:fs(?:\/promises)?'/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
  const found: string[] = [];
  for (const match of text.matchAll(CALL)) {
    const [all, owner = '', name = ''] = match;
    const isOurs = owner === '' ? imported.includes(name) : FILE_SYSTEMS.test(owner);
    if (!isOurs) continue;
    const args = argumentsAt(text, match.index + all.length);
    const isReading = /^open(Sync)?$/.test(name) && /, 'r\+?'$/.test(args.trim());
    const isByHandle = /^(handle|fd), /.test(args);
    const isPrivate = /\b(PRIVATE_FILE|PRIVATE_FOLDER|SOURCE_FILE|0o600|0o700)\b/.test(args) && !/recursive/.test(args);
    if (!isReading && !isByHandle && !isPrivate) found.push(`${all}${args})`);
  }
  return found;
}

it('every file and folder that is made in src/ is made for its owner only, and none by a recursive mkdir', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name) && !OF_THE_USER.includes(name),
  );
  const found = files.flatMap((name) =>
    openCalls(readFileSync(join(src, name), 'utf8')).map((call) => `${name}: ${call}`),
  );
  expect(files.length).toBeGreaterThan(300);
  expect(found).toEqual([]);
});

it('the look at the sources would find them', () => {
  const header = "import { mkdirSync, openSync, writeFileSync } from 'node:fs';\n";
  const bad = [
    'mkdirSync(a)',
    'mkdirSync(a, { recursive: true, mode: 0o700 })',
    "openSync(b, 'wx')",
    'writeFileSync(c, text())',
    'fs.createWriteStream(d)',
  ];
  const good = ["openSync(b, 'r')", "openSync(b, 'wx', PRIVATE_FILE)", 'writeFileSync(handle, text)', 'store.open(x)'];
  expect(openCalls(`${header}${[...bad, ...good].join(';\n')}`)).toEqual(bad);
});
