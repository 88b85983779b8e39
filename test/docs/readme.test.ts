/** The README leads: it is short, begins with a picture, and what it and the pages point to is there, headings included. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const MOST_LINES = 200;
const PAGES = ['server', 'client', 'controllers', 'testing', 'store', 'operating', 'cli', 'dashboard'];

it(`the README has at most ${MOST_LINES} lines, a picture of ours first, and leads to every page`, () => {
  const readme = read('README.md');
  expect(readme.split('\n').length).toBeLessThanOrEqual(MOST_LINES);
  const [, picture] = /^<p[^>]*><img src="([^"]+\.svg)"/.exec(readme) ?? [];
  expect(read(picture!)).toMatch(/^<svg[\s\S]*<title[\s\S]*<\/svg>\s*$/);
  expect(readme.split('\n').slice(0, 10)).toContain('    npx longwatch serve');
  for (const page of PAGES) expect(readme).toContain(`](docs/${page}.md)`);
});

/** As they become anchors on a rendered page. */
const anchorsOf = (path: string) =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true })
    .map((name) => `docs/${String(name)}`)
    .filter((path) => path.endsWith('.md')),
);

it.each(documents)('every link in %s leads somewhere', (document) => {
  const prose = read(document).replaceAll(/^```[\s\S]*?^```/gm, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const lost = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(lost).toEqual([]);
});
