/**
 * One watch of an informer: the part of its store that lies in one namespace, or all of it.
 *
 * What is always true: the store is changed completely before any event is delivered, and events come in the order it
 * changed. An object that has not changed stays the very same, so that those who hold it can compare by identity.
 */
import { isBehind } from '../../api/index.ts';
import { asPromised, isSameContent } from '../lazy/lazy-object.ts';
import type { Resource } from '../objects/define-resource.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ReflectorCounts } from '../observing/informer-metrics.ts';
import { Reflector } from '../reflector/reflector.ts';
import { noCounts, type ReflectorOptions, type ReflectorSink } from '../reflector/reflector-options.ts';
import type { ReflectorState } from '../reflector/reflector-state.ts';
import type { History } from '../reflector/server-history.ts';
import type { Transport } from '../transport/transport.ts';
import type { Indexer } from './indexer.ts';
import { afterRemove, afterReplace, afterUpsert, type InformerEvent } from './informer-event.ts';

export type SourceContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly store: Indexer<T>;
  /** What is kept of an object. */
  readonly prepare: (object: T) => T;
  /** What is in the store under a key from now on; undefined is nothing. */
  readonly note: (key: string, object: T | undefined) => void;
  /** An object has come that was not there before, as the server sent it. */
  readonly check: (key: string, object: T) => void;
  readonly tell: (events: readonly InformerEvent<T>[]) => void;
  /** Its version or its state is another one. */
  readonly onChange: (isState: boolean) => void;
};

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
  /** Undefined if it is all of the store. */
  readonly #namespace: string | undefined;
  readonly #context: SourceContext<T>;
  #version: string | undefined;

  constructor(context: SourceContext<T>, options: ReflectorOptions) {
    this.#context = context;
    const isAll = options.allNamespaces || !context.resource.isNamespaced;
    this.#namespace = isAll ? undefined : (options.namespace ?? context.transport.access.namespace);
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
  restore(
    objects: ReadonlyMap<string, T>,
    resourceVersion: string,
    lastContact: number,
    history: History | undefined,
  ): void {
    const events: InformerEvent<T>[] = [];
    for (const [key, saved] of objects) {
      const object = asPromised(this.#context.resource, saved);
      if (this.#namespace !== undefined && object.metadata.namespace !== this.#namespace) continue;
      this.#context.store.set(key, object);
      events.push({ type: 'added', key, object, isInitial: true });
    }
    this.#version = resourceVersion;
    this.reflector.resume(resourceVersion, lastContact, history);
    this.#context.tell(events);
    this.#context.onChange(true);
  }

  replace(objects: readonly T[], resourceVersion: string, mayBeNewHistory: boolean): void {
    const { store, prepare, note, check } = this.#context;
    const before = new Map(store.list(this.#namespace).map((object) => [keyOf(object), object]));
    // A server that was set back gives versions out a second time: then only the content tells what is the same.
    // By the time it is read its versions may be ahead of ours again, so they alone do not tell that it was set back.
    const isSetBack = this.#version !== undefined && (mayBeNewHistory || isBehind(resourceVersion, this.#version));
    const after = new Map<string, T>();
    for (const object of objects) {
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
    const events = afterReplace(before, after, this.#version === undefined);
    for (const { type, key, object } of events)
      if (type === 'deleted') {
        store.delete(key);
        note(key, undefined);
      } else {
        store.set(key, object);
        note(key, object);
      }
    this.#version = resourceVersion;
    this.#context.tell(events);
    this.#context.onChange(false);
  }

  upsert(object: T): void {
    const { store, prepare, note, check } = this.#context;
    const key = keyOf(object);
    const old = store.get(key);
    const kept = old && isSameVersion(old, object) ? old : prepare(object);
    const events = afterUpsert(key, old, kept);
    if (kept !== old) {
      store.set(key, kept);
      note(key, kept);
      check(key, object);
    }
    this.#advance(object, events);
  }

  remove(object: T): void {
    const { store, prepare, note } = this.#context;
    const key = keyOf(object);
    const events = afterRemove(key, store.get(key), prepare(object));
    store.delete(key);
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
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}
