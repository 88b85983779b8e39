/**
 * Which fields a part of an object is about: paths with a star for every element of a list, and all that is below them.
 * Whoever owns something below an element owns that it is there, so what is on the way counts where it is owned itself.
 */
import type { FieldNode, FieldSet } from './field-set.ts';

/** By step, or by a star; without anything below it: all of it. */
export type FieldPattern = ReadonlyMap<string, FieldPattern>;

/** Of paths as `spec.containers.*.resources`. */
export function patternOf(paths: readonly string[]): FieldPattern {
  const root: Tree = new Map();
  for (const path of paths) {
    let at = root;
    for (const name of path.split('.')) {
      const step = name === '*' ? name : `f:${name}`;
      let next = at.get(step);
      if (!next) {
        next = new Map();
        at.set(step, next);
      }
      at = next;
    }
  }
  return root;
}

type Tree = Map<string, Tree>;

export function within(set: FieldSet, pattern: FieldPattern): FieldSet {
  if (pattern.size === 0) return set;
  const result = new Map<string, FieldNode>();
  for (const [step, node] of set) {
    const below = pattern.get(step) ?? pattern.get('*');
    if (!below) continue;
    const children = within(node.children, below);
    if (node.isOwned || children.size > 0) result.set(step, { isOwned: node.isOwned, children });
  }
  return result;
}
