/**
 * Metadata of a lazy object: name, namespace, uid, version and labels are found without decoding anything else; the
 * first question for any other field decodes all metadata, and nothing but metadata.
 */
import { deepFreeze } from '../../api/index.ts';
import type { AnyObject, StoredMeta } from '../objects/objects.ts';
import { endOfValue } from './json-text.ts';
import type { EventScan } from './scan-event.ts';

export class LazyMeta {
  /** A whole event; undefined once the object is decoded. */
  #text: string | undefined;
  #object: AnyObject | undefined;
  #rest: StoredMeta | undefined;
  #labels: StoredMeta['labels'];
  #areLabelsRead = false;
  #name: string;
  #namespace: string | undefined;
  #uid: string;
  #resourceVersion: string;
  #labelsText: string | undefined;
  readonly #metadataAt: number;

  constructor(text: string | undefined, scan: Omit<EventScan, 'type'>) {
    this.#text = text;
    this.#name = scan.name;
    this.#namespace = scan.namespace;
    this.#uid = scan.uid;
    this.#resourceVersion = scan.resourceVersion;
    this.#metadataAt = scan.metadataAt;
    this.#labelsText = scan.labels;
  }

  /** Of an object that came decoded. */
  static of(object: AnyObject): LazyMeta {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const meta = new LazyMeta(undefined, { name, namespace, uid, resourceVersion, metadataAt: 0, labels: undefined });
    meta.#keep(object);
    return meta;
  }

  get name(): string {
    return this.#name;
  }

  get namespace(): string | undefined {
    return this.#namespace;
  }

  get uid(): string {
    return this.#uid;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  get labels(): StoredMeta['labels'] {
    if (this.#labelsText === undefined) return this.#all().labels;
    if (this.#labels) return this.#labels;
    const labels = this.#likeThis(JSON.parse(this.#labelsText) as StoredMeta['labels']);
    // Indexes look once at every object: what they saw is not worth keeping. Whoever looks again will do so again.
    if (this.#areLabelsRead) this.#labels = labels;
    this.#areLabelsRead = true;
    return labels;
  }

  get annotations(): StoredMeta['annotations'] {
    return this.#all().annotations;
  }

  get creationTimestamp(): string {
    return this.#all().creationTimestamp;
  }

  get deletionTimestamp(): StoredMeta['deletionTimestamp'] {
    return this.#all().deletionTimestamp;
  }

  get deletionGracePeriodSeconds(): StoredMeta['deletionGracePeriodSeconds'] {
    return this.#all().deletionGracePeriodSeconds;
  }

  get finalizers(): StoredMeta['finalizers'] {
    return this.#all().finalizers;
  }

  get generateName(): StoredMeta['generateName'] {
    return this.#all().generateName;
  }

  get generation(): StoredMeta['generation'] {
    return this.#all().generation;
  }

  get managedFields(): StoredMeta['managedFields'] {
    return this.#all().managedFields;
  }

  get ownerReferences(): StoredMeta['ownerReferences'] {
    return this.#all().ownerReferences;
  }

  toJSON(): StoredMeta {
    return this.#all();
  }

  /** The whole object that this belongs to; the text is given up. */
  decodeObject(): AnyObject {
    if (this.#object === undefined) this.#keep(this.#likeThis(this.peekObject()));
    return this.#object!;
  }

  /** The same, but nothing changes: one that is not decoded yet is the caller's own. */
  peekObject(): AnyObject {
    return this.#object ?? (JSON.parse(this.#text!) as { object: AnyObject }).object;
  }

  /** Strings cut out of the text would hold all of it, so none of them is kept. */
  #keep(object: AnyObject): void {
    const { metadata } = object;
    this.#object = object;
    this.#rest = metadata;
    this.#name = metadata.name;
    this.#namespace = metadata.namespace;
    this.#uid = metadata.uid;
    this.#resourceVersion = metadata.resourceVersion;
    this.#labels = undefined;
    this.#labelsText = undefined;
    this.#text = undefined;
  }

  #all(): StoredMeta {
    if (this.#rest === undefined) {
      const text = this.#text!;
      const part = text.slice(this.#metadataAt, endOfValue(text, this.#metadataAt));
      this.#rest = this.#likeThis(JSON.parse(part) as StoredMeta);
    }
    return this.#rest;
  }

  #likeThis<V>(value: V): V {
    return Object.isFrozen(this) ? deepFreeze(value) : value;
  }
}
