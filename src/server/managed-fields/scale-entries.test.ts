import { expect, it } from 'vitest';
import type { ManagedFieldsEntry } from '../../api/index.ts';
import { entriesOfScale, withScaleEntries } from './scale-entries.ts';

type Said = { version?: string; part?: string; time?: string };

function entry(manager: string, operation: 'Apply' | 'Update', fields: string[], said: Said = {}): ManagedFieldsEntry {
  const { version = 'apps/v1', part, time } = said;
  const spec = Object.fromEntries(fields.map((field) => [`f:${field}`, {}]));
  return {
    manager,
    operation,
    apiVersion: version,
    ...(time && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': spec },
    ...(part && { subresource: part }),
  };
}

const scale = { version: 'autoscaling/v1' };
const time = '2026-01-02T03:04:05Z';
const at = { count: '.spec.replicas', apiVersion: 'apps/v1' };

it('of a Scale those are the owners who own the count, and of nothing else', () => {
  const entries = [entry('a', 'Apply', ['replicas', 'selector'], { time }), entry('b', 'Update', ['paused'])];
  expect(entriesOfScale(entries, '.spec.replicas')).toEqual([entry('a', 'Apply', ['replicas'], { ...scale, time })]);
});

it('the count of a custom object lies where its definition says', () => {
  const entries = [entry('a', 'Apply', ['size'])];
  expect(entriesOfScale(entries, '.spec.size')).toEqual([entry('a', 'Apply', ['replicas'], scale)]);
  const place = { count: '.spec.size', apiVersion: 'x.io/v1' };
  expect(withScaleEntries([], [entry('s', 'Update', ['replicas'], { ...scale, part: 'scale' })], place)).toEqual([
    entry('s', 'Update', ['size'], { version: 'x.io/v1', part: 'scale' }),
  ]);
});

it.each<[claim: string, of: ManagedFieldsEntry[], ofScale: ManagedFieldsEntry[], want: ManagedFieldsEntry[]]>([
  [
    'takes the count from who had it',
    [entry('a', 'Apply', ['replicas', 'selector'], { time })],
    [entry('s', 'Update', ['replicas'], { ...scale, part: 'scale', time })],
    [entry('a', 'Apply', ['selector'], { time }), entry('s', 'Update', ['replicas'], { part: 'scale' })],
  ],
  [
    'that had nothing else leaves no entry of theirs',
    [entry('a', 'Update', ['replicas'], { time })],
    [entry('s', 'Apply', ['replicas'], { ...scale, part: 'scale' })],
    [entry('s', 'Apply', ['replicas'], { part: 'scale' })],
  ],
  [
    'leaves an applier that owns it still as it was',
    [entry('a', 'Apply', ['replicas', 'selector'], { time })],
    [entry('a', 'Apply', ['replicas'], scale), entry('s', 'Apply', ['replicas'], { ...scale, part: 'scale' })],
    [entry('s', 'Apply', ['replicas'], { part: 'scale' }), entry('a', 'Apply', ['replicas', 'selector'], { time })],
  ],
  [
    'gives an updater that owns it still an entry for it alone',
    [entry('a', 'Update', ['replicas', 'selector'], { time })],
    [entry('a', 'Update', ['replicas'], { ...scale, time })],
    [entry('a', 'Update', ['replicas']), entry('a', 'Update', ['selector'], { time })],
  ],
  [
    'that says nothing of the count owns nothing',
    [entry('a', 'Apply', ['selector'])],
    [entry('s', 'Update', ['paused'], { ...scale, part: 'scale' })],
    [entry('a', 'Apply', ['selector'])],
  ],
])('a write to the Scale %s', (_claim, of, ofScale, want) => expect(withScaleEntries(of, ofScale, at)).toEqual(want));
