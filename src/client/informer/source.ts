/**
 * One watch of an informer: the part of its store that lies in one namespace, or all of it.
 *
 * What is always true: the store is changed completely, from one moment to the next, before any event is delivered, and
 * events come in the order it changed. A whole state is got ready in slices, in which it is nobody's; the reflector brings
 * nothing else meanwhile. An object that has not changed stays the very same, so that those who hold it can compare by identity.
 */
import { isBehind } from '../../api/index.ts';
import { asPromised, isSameContent } from '../lazy/lazy-object.ts';
import type { Known } from '../lazy/spec-sharing.ts';
import type { Resource } from '../objects/define-resource.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ReflectorCounts } from '../observing/informer-metrics.ts';
import { Reflector } from '../reflector/reflector.ts';
import { noCounts, type ReflectorOptions, type ReflectorSink } from '../reflector/reflector-options.ts';
import type { ReflectorState } from '../reflector/reflector-state.ts';
import type { History } from '../reflector/server-history.ts';
import { Slices } from '../slices.ts';
import type { Transport } from '../transport/transport.ts';
import type { Indexer } from './indexer.ts';
import { afterRemove, afterReplace, afterUpsert, type InformerEvent } from './informer-event.ts';
import type { InformerStore } from './informer-store.ts';

export type SourceContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly store: InformerStore<T>;
  /** Whether versions of an object may share what has not changed, and that be frozen. */
  readonly isSharing: boolean;
  /** What is kept of an object. */
  readonly prepare: (object: T) => T;
  /** What is in the store under a key from now on; undefined is nothing. */
  readonly note: (key: string, object: T | undefined) => void;
  /** So much has changed that it is not told one by one. */
  readonly noteAll: () => void;
  /** An object has come that was not there before, as the server sent it. */
  readonly check: (key: string, object: T) => void;
  readonly tell: (events: readonly InformerEvent<T>[]) => void;
  /** What a whole state has brought; `has` says whether a key may be among it. */
  readonly tellAll: (events: readonly InformerEvent<T>[], has: (key: string) => boolean) => void;
  /** Its version or its state is another one. */
  readonly onChange: (isState: boolean) => void;
};

/** Up to so many changes of the store take no longer than a slice. */
const FEW_CHANGES = 500;

/** One watch for each namespace, or one for all. */
export function scopesOf(
  { plural, isNamespaced }: Resource,
  {
    namespace,
    allNamespaces,
  }: { namespace?: string | readonly string[] | undefined; allNamespaces?: boolean | undefined },
): { namespace?: string; allNamespaces?: boolean }[] {
  if (allNamespaces || !isNamespaced) return [{ allNamespaces: true }];
  if (namespace === undefined) return [{}];
  const names = typeof namespace === 'string' ? [namespace] : [...new Set(namespace)];
  if (names.length === 0) throw new TypeError(`Cannot watch ${plural}: the list of namespaces is empty`);
  return names.map((name) => ({ namespace: name }));
}

export class Source<T extends AnyObject> implements ReflectorSink<T> {
  readonly reflector: Reflector<T>;
  readonly known: Known | undefined;
  /** Undefined if it is all of the store. */
  readonly #namespace: string | undefined;
  readonly #context: SourceContext<T>;
  /** Its part of the store. */
  #part: Indexer<T>;
  #version: string | undefined;

  constructor(context: SourceContext<T>, options: ReflectorOptions) {
    this.#context = context;
    const isAll = options.allNamespaces || !context.resource.isNamespaced;
    this.#namespace = isAll ? undefined : (options.namespace ?? context.transport.access.namespace);
    this.#part = context.store.part(this.scope);
    this.known = context.isSharing ? (key) => this.#part.get(key) : undefined;
    this.reflector = new Reflector(context.transport, context.resource, this, options);
  }

  /** Its name among the sources of one informer: the namespace, or `*`. */
  get scope(): string {
    return this.#namespace ?? '*';
  }

  /** Undefined until the whole state has come. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Before it runs: begins with what an earlier process knew, and goes on after that. */
  async restore(
    objects: ReadonlyMap<string, T>,
    resourceVersion: string,
    lastContact: number,
    history: History | undefined,
  ): Promise<void> {
    const slices = new Slices();
    const after = new Map<string, T>();
    for (const [key, saved] of objects) {
      if (slices.isOver) await slices.pause();
      const object = asPromised(this.#context.resource, saved);
      if (this.#namespace === undefined || object.metadata.namespace === this.#namespace) after.set(key, object);
    }
    const events = await afterReplace(new Map<string, T>(), after, true, slices);
    this.#takeOver(await this.#filled(after, slices));
    this.#version = resourceVersion;
    this.reflector.resume(resourceVersion, lastContact, history);
    this.#context.tellAll(events, (key) => after.has(key));
    this.#context.onChange(true);
  }

  async replace(objects: readonly T[], resourceVersion: string, mayBeNewHistory: boolean): Promise<() => void> {
    const { prepare, check } = this.#context;
    const slices = new Slices();
    const before = this.#part.snapshot();
    // A server that was set back gives versions out a second time: then only the content tells what is the same.
    // By the time it is read its versions may be ahead of ours again, so they alone do not tell that it was set back.
    const isSetBack = this.#version !== undefined && (mayBeNewHistory || isBehind(resourceVersion, this.#version));
    const after = new Map<string, T>();
    for (const object of objects) {
      if (slices.isOver) await slices.pause();
      const key = keyOf(object);
      const old = before.get(key);
      if (old && !isSetBack && isSameVersion(old, object)) after.set(key, old);
      else {
        const kept = prepare(object);
        const isSame = isSetBack && isSameContent(old, kept);
        after.set(key, isSame ? old! : kept);
        if (!isSame) check(key, object);
      }
    }
    const events = await afterReplace(before, after, this.#version === undefined, slices);
    const part = events.length > FEW_CHANGES ? await this.#filled(after, slices) : undefined;
    return () => {
      if (part) {
        this.#takeOver(part);
        this.#context.noteAll();
      } else this.#change(events);
      this.#version = resourceVersion;
      this.#context.tellAll(events, (key) => before.has(key) || after.has(key));
      this.#context.onChange(false);
    };
  }

  upsert(object: T): void {
    const { prepare, note, check } = this.#context;
    const part = this.#part;
    const key = keyOf(object);
    const old = part.get(key);
    const kept = old && isSameVersion(old, object) ? old : prepare(object);
    const events = afterUpsert(key, old, kept);
    if (kept !== old) {
      part.set(key, kept);
      note(key, kept);
      check(key, object);
    }
    this.#advance(object, events);
  }

  remove(object: T): void {
    const { prepare, note } = this.#context;
    const part = this.#part;
    const key = keyOf(object);
    const events = afterRemove(key, part.get(key), prepare(object));
    part.delete(key);
    note(key, undefined);
    this.#advance(object, events);
  }

  progress(resourceVersion: string): void {
    this.#version = resourceVersion;
    this.#context.onChange(false);
  }

  changed(_state: ReflectorState): void {
    this.#context.onChange(true);
  }

  #takeOver(part: Indexer<T>): void {
    this.#context.store.replacePart(this.scope, part);
    this.#part = part;
  }

  async #filled(objects: ReadonlyMap<string, T>, slices: Slices): Promise<Indexer<T>> {
    const part = this.#context.store.fillPart();
    for (const [key, object] of objects) {
      if (slices.isOver) await slices.pause();
      part.set(key, object);
    }
    return part;
  }

  #change(events: readonly InformerEvent<T>[]): void {
    const { note } = this.#context;
    for (const { type, key, object } of events)
      if (type === 'deleted') {
        this.#part.delete(key);
        note(key, undefined);
      } else {
        this.#part.set(key, object);
        note(key, object);
      }
  }

  #advance({ metadata }: T, events: readonly InformerEvent<T>[]): void {
    this.#version = metadata.resourceVersion;
    this.#context.tell(events);
    this.#context.onChange(false);
  }
}

/** Of all their watches together. */
export function countsOf(
  sources: readonly { readonly reflector: { readonly counts: ReflectorCounts } }[],
): ReflectorCounts {
  const total = noCounts();
  for (const { reflector } of sources) {
    const { counts } = reflector;
    for (const name of Object.keys(total) as (keyof ReflectorCounts)[]) total[name] += counts[name];
  }
  return total;
}

function isSameVersion(a: AnyObject, b: AnyObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
