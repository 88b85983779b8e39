/** docs/metrics.md promises a row for every metric, with its type and labels, and says nothing of others. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { definitions } from '../../src/metrics/index.ts';

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

it('docs/metrics.md has one row for each metric, and it says what the code says', () => {
  expect(rows.length).toBeGreaterThan(30);
  const said = Object.fromEntries(rows.map(([name, ...rest]) => [name, rest]));
  const declared = Object.entries(definitions).map(([name, { type, labels, help }]) => {
    const meaning = help.replaceAll(/<\w+>/g, '`$&`');
    return [`\`${name}\``, [type, labels.map((label) => `\`${label}\``).join(', '), meaning]] as const;
  });
  expect(said).toEqual(Object.fromEntries(declared));
  expect(rows).toHaveLength(declared.length);
});

it.each(Object.entries(definitions))('%s is named as Prometheus asks for', (name, { type, labels }) => {
  expect(name).toMatch(/^[a-z][a-z0-9_]+$/);
  expect(name.endsWith('_total')).toBe(type === 'counter');
  for (const label of labels) expect(label).toMatch(/^[a-z][a-z0-9_]*$/);
  expect(labels).not.toContain('cluster'); // it is on all of them
});
