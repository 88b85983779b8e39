/**
 * Which watchers an event concerns, found by look-up, not by asking each.
 *
 * Watchers with the same selection and encoding form a group; a group hangs in one bucket, of those that its selection
 * allows: its name, else the least crowded of the fields and labels it pins to a value and its namespace, else
 * everything. An event is tried on the groups of the buckets it falls into, with what it was before as well as with what
 * it is: a pod that leaves a node concerns the watcher of that node. So an event costs what it delivers, not what is
 * registered.
 *
 * Always true: members are live; each gets every frame of its group, in order.
 */
import { type EventEncoding, frameOf } from '../../event-encoding.ts';
import type { ObjectEvent } from '../../objects/object-event.ts';
import type { Pin, Selection } from '../../objects/selection.ts';
import { SmallSet } from './small-set.ts';

export interface Subscriber {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Frames of one batch, in order, and how many events they are; must not throw and may leave the index. */
  deliver(frames: readonly Buffer[], revision: number, events: number): void;
  /** What it wants cannot be put into bytes: it must end, since it would miss something. */
  fail?(err: unknown): void;
}

type Group = {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  readonly members: SmallSet<Subscriber>;
  readonly place: Place;
  frames: Buffer[];
};

/** A bucket, and by what it is found if that is a field or a label. */
type Place = { readonly id: string; readonly pin?: Pin };

export class WatchIndex {
  readonly #groups = new Map<string, Group>();
  readonly #buckets = new Map<string, SmallSet<Group>>();
  /** How many groups hang on each pinned field: only those fields need to be looked up. */
  readonly #pinnedFields = new Map<string, number>();
  /** How many hang on a label: where none does, nobody reads the labels of an object. */
  #onLabels = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  join(subscriber: Subscriber): void {
    const id = groupId(subscriber);
    let group = this.#groups.get(id);
    if (!group) {
      const { selection, encoding } = subscriber;
      group = { selection, encoding, members: new SmallSet(), place: this.#placeFor(selection), frames: [] };
      this.#groups.set(id, group);
      this.#hang(group);
    }
    group.members.add(subscriber);
    this.#size++;
  }

  leave(subscriber: Subscriber): void {
    const id = groupId(subscriber);
    const group = this.#groups.get(id);
    if (!group?.members.delete(subscriber)) return;
    this.#size--;
    if (group.members.size > 0) return;
    this.#groups.delete(id);
    this.#unhang(group);
  }

  members(): Subscriber[] {
    return [...this.#groups.values()].flatMap(({ members }) => members.members());
  }

  /** Gives a batch of events to all whom they concern; answers how many deliveries that were. */
  publish(events: readonly ObjectEvent[], revision: number): number {
    if (this.#size === 0) return 0;
    const touched = new Set<Group>();
    const failed = new Map<Group, unknown>();
    for (const event of events)
      for (const group of this.#candidates(event)) {
        try {
          const type = group.selection.typeOf(event);
          if (!type) continue;
          group.frames.push(frameOf(event, type, group.encoding));
          touched.add(group);
        } catch (err) {
          failed.set(group, err); // the others must not notice
        }
      }
    for (const [group, err] of failed) {
      touched.delete(group);
      group.frames = [];
      for (const member of group.members) member.fail?.(err);
    }
    let deliveries = 0;
    for (const group of touched) {
      const { frames } = group;
      group.frames = [];
      deliveries += frames.length * group.members.size;
      // Joined once here: every member then hands the very same buffer to its socket.
      const joined = frames.length === 1 ? frames : [Buffer.concat(frames)];
      for (const member of group.members) member.deliver(joined, revision, frames.length);
    }
    return deliveries;
  }

  *#candidates({ current, previous }: ObjectEvent): Iterable<Group> {
    const object = current ?? previous!;
    yield* this.#bucket('all');
    if (object.namespace !== '') yield* this.#bucket(`namespace ${object.namespace}`);
    yield* this.#bucket(`name ${object.name}`);
    if (object.namespace !== '') yield* this.#bucket(`name ${object.namespace}/${object.name}`);
    for (const field of this.#pinnedFields.keys()) {
      const now = current?.field(field);
      const before = previous?.field(field);
      if (now !== undefined) yield* this.#bucket(bucketOf('field', field, now));
      if (before !== undefined && before !== now) yield* this.#bucket(bucketOf('field', field, before));
    }
    if (this.#onLabels === 0) return;
    const now = current?.labels ?? {};
    const before = previous?.labels ?? {};
    for (const [key, value] of Object.entries(now)) yield* this.#bucket(bucketOf('label', key, value));
    for (const [key, value] of Object.entries(before))
      if (now[key] !== value) yield* this.#bucket(bucketOf('label', key, value));
  }

  #bucket(id: string): Iterable<Group> {
    return this.#buckets.get(id) ?? [];
  }

  #placeFor({ name, namespace, pinned }: Selection): Place {
    if (name !== '') return { id: namespace === '' ? `name ${name}` : `name ${namespace}/${name}` };
    const places: Place[] = pinned.map((pin) => ({ id: bucketOf(pin.of, pin.key, pin.value), pin }));
    if (namespace !== '') places.push({ id: `namespace ${namespace}` });
    const groupsIn = ({ id }: Place) => this.#buckets.get(id)?.size ?? 0;
    return places.reduce(
      (best, place) => (groupsIn(place) < groupsIn(best) ? place : best),
      places[0] ?? { id: 'all' },
    );
  }

  #hang(group: Group): void {
    const { id, pin } = group.place;
    let bucket = this.#buckets.get(id);
    if (!bucket) {
      bucket = new SmallSet();
      this.#buckets.set(id, bucket);
    }
    bucket.add(group);
    this.#count(pin, 1);
  }

  #unhang(group: Group): void {
    const { id, pin } = group.place;
    const bucket = this.#buckets.get(id);
    bucket?.delete(group);
    if (bucket?.size === 0) this.#buckets.delete(id);
    this.#count(pin, -1);
  }

  #count(pin: Pin | undefined, change: 1 | -1): void {
    if (pin?.of === 'label') this.#onLabels += change;
    if (pin?.of !== 'field') return;
    const groups = (this.#pinnedFields.get(pin.key) ?? 0) + change;
    if (groups === 0) this.#pinnedFields.delete(pin.key);
    else this.#pinnedFields.set(pin.key, groups);
  }
}

function bucketOf(of: Pin['of'], key: string, value: string): string {
  return `${of} ${key}=${value}`;
}

function groupId({ selection, encoding }: Subscriber): string {
  return `${encoding.id} ${selection.id}`;
}
