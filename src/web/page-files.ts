/**
 * The files of the page, as the build left them in `dist/bundle/page/`, and the headers that every answer carries.
 *
 * Always true: only the names below are ever read, so no path of a request reaches the disk; a page loads nothing but
 * itself and speaks to nobody but its own server, whatever is in it. Where the files are missing (a program that was
 * bundled without them) an error says where they were looked for.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type PageFile = { readonly type: string; readonly bytes: Buffer };

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

const read = new Map<string, PageFile>();

/** `''` is the page itself. Undefined: there is no such file. */
export function pageFile(name: string): PageFile | undefined {
  const file = name === '' ? 'index.html' : name;
  const type = Object.hasOwn(TYPES, file) ? TYPES[file] : undefined;
  if (type === undefined) return undefined;
  const known = read.get(file);
  if (known) return known;
  // By the name of the package: where this code lies in it is up to the build.
  const folder = join(dirname(createRequire(import.meta.url).resolve('longwatch/package.json')), 'dist/bundle/page');
  const fresh = { type, bytes: readFileSync(join(folder, file)) };
  read.set(file, fresh);
  return fresh;
}

/** `formTargets`: whom a form may be sent to; nobody without it. */
export function pageHeaders({ formTargets = "'none'" }: { formTargets?: string } = {}): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      `form-action ${formTargets}`,
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join('; '),
    'Cache-Control': 'no-store', // written as the server writes its own, which this takes the place of
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}
