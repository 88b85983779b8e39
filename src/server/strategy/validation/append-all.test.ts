import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appendAll } from './append-all.ts';

it('appendAll() takes more than a call has room for', () => {
  const list = [0];
  appendAll(
    list,
    Array.from({ length: 1_000_000 }, (_, i) => i + 1),
  );
  expect([list.length, list.at(-1)]).toEqual([1_000_001, 1_000_000]);
});

it('no rule of a kind hands a whole list to a call', () => {
  const server = join(import.meta.dirname, '../..');
  const files = ['kinds', 'strategy'].flatMap((room) =>
    readdirSync(join(server, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!test)\.ts$/.test(file))
      .map((file) => join(room, file)),
  );
  const found = files.filter((file) => /^[^*]*\.push\(\.\.\./m.test(readFileSync(join(server, file), 'utf8')));
  expect([files.length > 80, found]).toEqual([true, []]);
});
