/** The table of reasons in docs/introspection.md has exactly those that the server gives to watches. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { STREAM_ENDS } from '../../src/server/request/stream-end.ts';

it('docs/introspection.md names every reason a watch can end for, and no other', () => {
  const page = readFileSync(new URL('../../docs/introspection.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('### Why a watch ended'));
  const named = [...section.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);
  const { complete: _ofSnapshots, ...ofWatches } = STREAM_ENDS;
  expect(named.sort()).toEqual(Object.keys(ofWatches).sort());
});
