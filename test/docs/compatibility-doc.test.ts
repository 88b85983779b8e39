/** docs/compatibility.md is what the code makes of it, and says nothing of resources that are not there. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { builtInResources } from '../../src/server/registry/built-in-resources.ts';
import { qualifiedName } from '../../src/server/registry/resource.ts';
import { compatibilityPage, missing, missingParts, PAGE } from './compatibility-page.ts';

it('is up to date', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(compatibilityPage());
});

it('names what is missing of resources that there are', () => {
  const names = new Set(builtInResources().map(qualifiedName));
  expect(Object.keys(missing).filter((name) => !names.has(name))).toEqual([]);
  const parts = new Set(
    builtInResources().flatMap((one) => one.subresources.map(({ name }) => `${one.plural}/${name}`)),
  );
  expect(Object.keys(missingParts).filter((name) => !parts.has(name))).toEqual([]);
});
