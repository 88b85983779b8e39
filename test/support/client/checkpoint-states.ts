/** Small states for tests of checkpoints: a header, objects, random changes, and a form that can be compared. */
import fc from 'fast-check';
import type { CheckpointHeader } from '../../../src/client/checkpoint/checkpoint-format.ts';
import type { AnyObject } from '../../../src/client/index.ts';

export const header: CheckpointHeader = {
  ...{ format: 1, resource: 'v1 things', namespaces: ['*'], labelSelector: '', fieldSelector: '', shape: 'whole' },
  server: 'http://x/',
};

export const object = (name: string, version: number, text = ''): AnyObject & { text: string } => ({
  ...{ apiVersion: 'v1', kind: 'Thing', text },
  metadata: { name, uid: name, resourceVersion: `${version}`, creationTimestamp: '' },
});

/** What a state is, in a form that can be compared. */
export type Plain = { version: string | undefined; objects: Record<string, string> };

export const plain = (version: string | undefined, objects: ReadonlyMap<string, AnyObject>): Plain => ({
  version,
  objects: Object.fromEntries([...objects].sort().map(([key, one]) => [key, JSON.stringify(one)])),
});

const names = ['a', 'b', 'c'] as const;

export const change: fc.Arbitrary<{ name: (typeof names)[number]; isGone: boolean; text: string }> = fc.record({
  name: fc.constantFrom(...names),
  isGone: fc.boolean(),
  text: fc.string({ unit: 'grapheme', maxLength: 12 }),
});
