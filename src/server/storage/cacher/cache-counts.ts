/** What happened in a cache so far; whoever does it counts it. */
import type { Pin } from '../objects/selection.ts';

/** Lists by one way to find objects, and how many objects they looked at. */
export type ListCount = { lists: number; fetched: number };

export class CacheCounts {
  received = 0;
  dispatched = 0;
  initializations = 0;
  lists = 0;
  /** By the index that was asked: `f:` and its field, or `labels`, whichever; empty: none. */
  readonly listsBy: Map<string, ListCount> = new Map();
  stale = 0;
  bookmarks = 0;

  list(fetched: number, pin?: Pin): void {
    const index = !pin ? '' : pin.of === 'field' ? `f:${pin.key}` : 'labels';
    let by = this.listsBy.get(index);
    if (!by) {
      by = { lists: 0, fetched: 0 };
      this.listsBy.set(index, by);
    }
    this.lists++;
    by.lists++;
    by.fetched += fetched;
  }
}
