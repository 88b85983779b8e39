import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appendAll, faultsOf, mostFaults } from './append-all.ts';

it('appendAll() takes more than a call has room for', () => {
  const list = [0];
  appendAll(
    list,
    Array.from({ length: 1_000_000 }, (_, i) => i + 1),
  );
  expect([list.length, list.at(-1)]).toEqual([1_000_001, 1_000_000]);
});

it('finds what is wrong with each, in order', () => {
  const faults = faultsOf(['a', '', 'b', ''], (text, index) => (text === '' ? [`[${index}] is empty`] : []));
  expect(faults).toEqual(['[1] is empty', '[3] is empty']);
});

it('looks no further when nobody could read what it finds', () => {
  let looked = 0;
  const faults = faultsOf(Array(100 * mostFaults), () => {
    looked++;
    return ['wrong', 'also wrong'];
  });
  expect(faults.length).toBeLessThanOrEqual(mostFaults + 2);
  expect(looked).toBeLessThanOrEqual(mostFaults);
});

it('no rule of a kind hands a whole list to a call, or looks through all of it whatever it finds', () => {
  const server = join(import.meta.dirname, '../..');
  const files = ['kinds', 'strategy'].flatMap((room) =>
    readdirSync(join(server, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!test)\.ts$/.test(file))
      .map((file) => join(room, file)),
  );
  const found = (what: RegExp) => files.filter((file) => what.test(readFileSync(join(server, file), 'utf8')));
  expect(files.length).toBeGreaterThan(80);
  expect(found(/^[^*]*\.push\(\.\.\./m)).toEqual([]);
  expect(found(/\.flatMap\(\(\w+, (index|i)\)/)).toEqual([]);
});
