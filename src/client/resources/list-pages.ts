/**
 * A long list in pages. All pages belong to one snapshot, that of the first, as long as the server still has it.
 *
 * When it has not (410), the error carries a token for the rest as it is now. The listing goes on with it, and says so:
 * pages from there on have `isConsistent: false`, and what changed in between may be missing or old. Whoever cannot live
 * with that says `onExpired: 'throw'`. A page that is empty may still be followed by others; a token that leads to itself
 * is thrown, for it has no end.
 */
import { isExpired, TransportError } from '../errors.ts';
import type { ObjectList } from '../objects/objects.ts';
import type { ListOptions } from './options.ts';

export type ListPagesOptions = Omit<ListOptions, 'continue'> & {
  /** continue */
  readonly onExpired?: 'continue' | 'throw' | undefined;
};

export type ListPage<T> = ObjectList<T> & {
  /** All pages up to this one show the same moment. */
  readonly isConsistent: boolean;
};

const PAGE_ITEMS = 500;

export async function* listPages<T>(
  list: (options: ListOptions) => Promise<ObjectList<T>>,
  { onExpired = 'continue', ...options }: ListPagesOptions,
): AsyncGenerator<ListPage<T>, void, void> {
  const { resourceVersion, resourceVersionMatch, limit = PAGE_ITEMS, ...rest } = options;
  const first = {
    ...rest,
    limit,
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(resourceVersionMatch && { resourceVersionMatch }),
  };
  let token: string | undefined;
  const tokens = new Set<string>(); // one that comes again leads back to where we were, at once or after some pages
  let isConsistent = true;
  do {
    let page: ObjectList<T>;
    try {
      // A token knows its version; naming one beside it is refused.
      page = await list(token === undefined ? first : { ...rest, limit, continue: token });
    } catch (err) {
      const next = isExpired(err) ? err.status.metadata.continue : undefined;
      if (token === undefined || !next || next === token || onExpired === 'throw') throw err;
      token = next;
      isConsistent = false;
      continue;
    }
    const next = page.metadata.continue || undefined;
    if (next !== undefined && tokens.has(next))
      throw new TransportError('body', 'Cannot list any further: the server gave the same continue token twice');
    if (next !== undefined) tokens.add(next);
    token = next;
    yield { ...page, isConsistent };
  } while (token !== undefined);
}
