/** Messages that hold a few integers and nothing else. */
import { Reader } from '../../../api/protobuf.ts';

/** The integers of a message, by their field numbers; 0 where they are missing. */
export function readFields<N extends string>(
  bytes: Uint8Array,
  fields: Readonly<Record<N, number>>,
): Record<N, bigint> {
  const reader = new Reader(bytes);
  const names = Object.entries(fields) as [N, number][];
  const values = Object.fromEntries(names.map(([name]) => [name, 0n])) as Record<N, bigint>;
  while (reader.hasMore) {
    const tag = reader.tag();
    const found = names.find(([, field]) => field * 8 === tag);
    if (found) values[found[0]] = reader.int64();
    else reader.skip(tag);
  }
  return values;
}
