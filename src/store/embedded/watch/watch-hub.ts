/**
 * Who hears of a change. Watchers of the same range with the same wish for previous values form a group: an event is
 * made once, a group's events of one commit are gathered into one batch, and every member gets that very batch.
 *
 *   exact     key → group                        one look-up per event
 *   prefixes  length → prefix → group            one look-up per event and length in use
 *   intervals start and end → group              any other range: tried one by one
 *
 * Always true: a member is live, i.e. it has been offered every batch of its group since it joined.
 */
import { type Bounds, boundsOf, isInBounds } from '../../keys.ts';
import type { Key, KeyRange, KeyValue, Revision, WatchBatch, WatchEvent } from '../../kv.ts';

/** A batch on its way to a watcher's queue, with what it weighs. */
export type Delivery = { readonly batch: WatchBatch; readonly bytes: number };

export interface HubMember {
  readonly range: KeyRange;
  readonly wantsPrevKv: boolean;
  /** Must not throw, and may leave the hub. */
  offer(delivery: Delivery): void;
  /** What it is owed cannot be read: it leaves the hub. */
  end(error: unknown): void;
}

/** A change as the hub gets it; the pair before it is looked up once, and only if somebody wants it. */
export type HubChange = {
  readonly event: WatchEvent;
  readonly bytes: number;
  readonly readPrevKv: () => KeyValue | undefined;
  withPrevKv?: WatchEvent;
};

type Group = {
  readonly bounds: Bounds;
  readonly wantsPrevKv: boolean;
  readonly members: Set<HubMember>;
  events: WatchEvent[];
  bytes: number;
  /** Why its events of this commit cannot be had. */
  error?: unknown;
};

/** Two groups at most share a range: with and without previous values. */
type Groups = Group[];

export class WatchHub {
  readonly #exact = new Map<Key, Groups>();
  readonly #prefixes = new Map<number, Map<Key, Groups>>();
  readonly #intervals = new Map<string, Groups>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  join(member: HubMember): void {
    const groups = this.#makeGroups(member.range);
    const bounds = boundsOf(member.range);
    let group = groups.find((one) => one.wantsPrevKv === member.wantsPrevKv);
    if (!group) {
      group = { bounds, wantsPrevKv: member.wantsPrevKv, members: new Set(), events: [], bytes: 0 };
      groups.push(group);
    }
    group.members.add(member);
    this.#size++;
  }

  leave(member: HubMember): void {
    const groups = this.#groupsFor(member.range);
    const group = groups?.find((one) => one.members.has(member));
    if (!groups || !group) return;
    group.members.delete(member);
    this.#size--;
    if (group.members.size > 0) return;
    groups.splice(groups.indexOf(group), 1);
    if (groups.length === 0) this.#dropGroups(member.range);
  }

  /** Everything that became visible at once, up to and with `revision`. */
  publish(revision: Revision, changes: Iterable<HubChange>): void {
    const touched = new Set<Group>();
    for (const change of changes) {
      const { key } = change.event.kv;
      this.#gather(this.#exact.get(key), change, touched);
      for (const [length, byPrefix] of this.#prefixes)
        if (key.length >= length) this.#gather(byPrefix.get(key.slice(0, length)), change, touched);
      for (const groups of this.#intervals.values())
        if (isInBounds(key, groups[0]!.bounds)) this.#gather(groups, change, touched);
    }
    for (const group of touched) {
      const delivery = { batch: { revision, events: group.events }, bytes: group.bytes };
      const { error } = group;
      group.events = [];
      group.bytes = 0;
      delete group.error;
      for (const member of [...group.members])
        if (error === undefined) member.offer(delivery);
        else member.end(error);
    }
  }

  #gather(groups: Groups | undefined, change: HubChange, touched: Set<Group>): void {
    if (!groups) return;
    for (const group of groups) {
      touched.add(group);
      try {
        group.events.push(group.wantsPrevKv ? withPrevKv(change) : change.event);
        group.bytes += change.bytes;
      } catch (err) {
        group.error ??= err;
      }
    }
  }

  #groupsFor(range: KeyRange): Groups | undefined {
    if ('key' in range) return this.#exact.get(range.key);
    if (!('prefix' in range)) return this.#intervals.get(intervalName(range));
    return this.#prefixes.get(range.prefix.length)?.get(range.prefix);
  }

  #makeGroups(range: KeyRange): Groups {
    if ('key' in range) return getOrMake(this.#exact, range.key, () => []);
    if (!('prefix' in range)) return getOrMake(this.#intervals, intervalName(range), () => []);
    const byPrefix = getOrMake(this.#prefixes, range.prefix.length, () => new Map<Key, Groups>());
    return getOrMake(byPrefix, range.prefix, () => []);
  }

  #dropGroups(range: KeyRange): void {
    if ('key' in range) this.#exact.delete(range.key);
    else if (!('prefix' in range)) this.#intervals.delete(intervalName(range));
    if (!('prefix' in range)) return;
    const byPrefix = this.#prefixes.get(range.prefix.length);
    byPrefix?.delete(range.prefix);
    if (byPrefix?.size === 0) this.#prefixes.delete(range.prefix.length);
  }
}

function withPrevKv(change: HubChange): WatchEvent {
  change.withPrevKv ??= { ...change.event, prevKv: change.readPrevKv() };
  return change.withPrevKv;
}

/** No key has a character above U+00FF. */
function intervalName({ start, end }: Extract<KeyRange, { readonly start: Key }>): string {
  return end === undefined ? start : `${start}\u0100${end}`;
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
