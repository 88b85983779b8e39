import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { greatestOf, leastOf } from './extremes.ts';

it('takes more numbers than a call has arguments', () => {
  const many = Array.from({ length: 1_000_000 }, (_, i) => i);
  expect([leastOf(many), greatestOf(many)]).toEqual([0, 999_999]);
  expect([leastOf([]), greatestOf([])]).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  expect(leastOf([1, Number.NaN])).toBeNaN();
});

it('nothing in src/ hands a list to Math.min or Math.max', () => {
  const src = fileURLToPath(new URL('..', import.meta.url));
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.test|\.testing)\.tsx?$/.test(name) && !name.endsWith('extremes.ts'))
    .filter((name) => /Math\.(?:min|max)\([^)\n]*\.\.\./.test(readFileSync(`${src}${name}`, 'utf8')));
  expect(found).toEqual([]);
});
