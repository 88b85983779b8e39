/**
 * Which objects of a resource a reader sees: scope (namespace, name) and selectors. Immutable; equal selections have
 * equal `id`, so watchers with the same wish can share one judgement per event.
 */
import { everyField, type FieldSelector } from '../../../api/selectors/field-selector.ts';
import { everyLabel, type LabelSelector } from '../../../api/selectors/label-selector.ts';
import type { ObjectEvent } from './object-event.ts';
import type { StoredObject } from './stored-object.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export type Pin = { readonly of: 'field' | 'label'; readonly key: string; readonly value: string };

export type SelectionParts = {
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
};

const NO_PINS: readonly Pin[] = [];

export class Selection {
  /** `''`: all. */
  readonly namespace: string;
  /** `''`: all. */
  readonly name: string;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** Of the path, which the fields may narrow. */
  readonly #inPath: string;
  #id: string | undefined;
  /** Fields other than name and namespace, and labels, that must have one value: what an index finds it by. */
  readonly pinned: readonly Pin[];
  /** Whether anything beyond the scope must be looked at. */
  readonly isScopeOnly: boolean;

  constructor({ namespace = '', labels = everyLabel, fields = everyField }: SelectionParts) {
    this.labels = labels;
    this.fields = fields;
    // A namespace in the path and another in the selector select nothing; the fields are judged all the same.
    const fixed = fields.pinned;
    this.namespace = namespace || (fixed.get('metadata.namespace') ?? '');
    this.name = fixed.get('metadata.name') ?? '';
    this.#inPath = namespace;
    const pinnedFields = [...fixed].filter(([field]) => !field.startsWith('metadata.'));
    const pinned = [
      ...pinnedFields.map(([key, value]): Pin => ({ of: 'field', key, value })),
      ...[...labels.pinned].map(([key, value]): Pin => ({ of: 'label', key, value })),
    ];
    this.pinned = pinned.length > 0 ? pinned : NO_PINS;
    this.isScopeOnly =
      labels.isEmpty &&
      fields.requirements.length < 2 &&
      fields.requirements.every(
        ({ field, operator, value }) => operator === '=' && field === 'metadata.name' && value !== '',
      );
  }

  /** Made when somebody asks: lists never do. */
  get id(): string {
    this.#id ??= JSON.stringify([this.#inPath, this.labels.canonical, this.fields.canonical]);
    return this.#id;
  }

  /** Whether everything in the scope that has this is selected. */
  isOnly(pin: Pin): boolean {
    const terms = this.fields.requirements.length + this.labels.requirements.length;
    return terms === 1 && this.pinned[0] === pin;
  }

  /** Whether the selectors, not only the scope, leave something out. */
  get isSelective(): boolean {
    return !this.labels.isEmpty || !this.fields.isEmpty;
  }

  matches(object: StoredObject): boolean {
    if (this.namespace !== '' && object.namespace !== this.namespace) return false;
    if (this.name !== '' && object.name !== this.name) return false;
    if (this.isScopeOnly) return true;
    return (
      (this.fields.isEmpty || this.fields.matches((field) => object.field(field))) &&
      (this.labels.isEmpty || this.labels.matches(object.labels))
    );
  }

  /** What the change is to a reader of this selection; undefined: nothing. */
  typeOf({ current, previous }: ObjectEvent): EventType | undefined {
    const isSeen = current !== undefined && this.matches(current);
    const wasSeen = previous !== undefined && this.matches(previous);
    if (isSeen) return wasSeen ? 'MODIFIED' : 'ADDED';
    return wasSeen ? 'DELETED' : undefined;
  }
}
