/** A table whose columns sort it, by mouse or keyboard; on a phone it scrolls within itself. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export type Column<T> = {
  readonly title: string;
  readonly show: (row: T) => ComponentChildren;
  /** What it is sorted by; a column without it does not sort. */
  readonly by?: (row: T) => string | number;
  readonly isNumber?: boolean;
};

type TableProps<T> = {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly classOf?: (row: T) => string;
  /** The title of the column that sorts it first, the greatest on top. */
  readonly sortedBy?: string;
  readonly empty: string;
};

export function Table<T>({ caption, columns, rows, keyOf, classOf, sortedBy, empty }: TableProps<T>) {
  const [sort, setSort] = useState({ title: sortedBy, isRising: false });
  const by = columns.find(({ title }) => title === sort.title)?.by;
  const sorted = by ? [...rows].sort((a, b) => compare(by(a), by(b)) * (sort.isRising ? 1 : -1)) : rows;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="scrolls" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, by: sorts, isNumber }) => (
              <th
                key={title}
                scope="col"
                class={isNumber ? 'number' : ''}
                aria-sort={sort.title !== title ? undefined : sort.isRising ? 'ascending' : 'descending'}
              >
                {sorts ? (
                  <button
                    type="button"
                    onClick={() => setSort({ title, isRising: sort.title === title && !sort.isRising })}
                  >
                    {title}
                    <span aria-hidden="true">{sort.title !== title ? '' : sort.isRising ? ' ▲' : ' ▼'}</span>
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={keyOf(row)} class={classOf?.(row) ?? ''} data-row={keyOf(row)}>
              {columns.map(({ title, show, isNumber }) => (
                <td key={title} class={isNumber ? 'number' : ''}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </section>
  );
}

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;
}
