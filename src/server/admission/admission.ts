/**
 * Admission: what may still change or refuse a write that was authorised and decoded, in two phases around the strategy of
 * the kind, as in kube-apiserver:
 *
 *   decode, defaults → owners of fields → admit → strategy (metadata, prepare, validate: 422) → validate → store
 *
 * Always true: plugins run in the order of `plugin-names.ts`, whatever order they are given in; the first refusal ends a
 * phase; a write that is tried again on a newer object runs through both phases again. A plugin refuses by throwing a
 * StatusError (`refuse` makes the usual one); anything else it throws is a bug and becomes a 500.
 */
import { forbidden, type JsonObject, type KubeObject, type StatusCause, type StatusError } from '../../api/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { AbortNotice } from '../request/abort-notice.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StrategyContext } from '../strategy/strategy.ts';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string };

export type AdmissionAttributes = {
  readonly operation: AdmissionOperation;
  readonly resource: Resource;
  /** `''` is the object itself. */
  readonly subresource: string;
  /** Of `object`: the resource's own, or what the subresource takes (Scale, Binding, Eviction, TokenRequest). */
  readonly kind: GroupVersionKind;
  readonly namespace: string;
  /** As in the request, else in its body; while it is generated empty in `admit`, and there in `validate`. */
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions with their kind; a patch has those of what it comes to. */
  readonly options: JsonObject | null;
  /**
   * What will be stored; absent on DELETE. In `admit` it is defaulted and not yet prepared by its strategy (no uid, no
   * creationTimestamp) and may be changed in place; in `validate` nobody may change it.
   */
  object: KubeObject | undefined;
  /** What is stored now; nobody may change it. */
  readonly oldObject: KubeObject | undefined;
  /** What quotas were charged for by an attempt before this one, of which nothing was stored. */
  charged: Charged | undefined;
  /**
   * Another object in the place of `object`, as policies and webhooks make it: read as a body would be, unknown fields
   * dropped, and defaulted. Only in `admit`.
   */
  replaceObject(object: JsonObject): void;
  readonly reinvocation: Reinvocation;
  readonly context: StrategyContext;
  /** An annotation of the audit event. */
  annotate(key: string, value: string): void;
  readonly signal: AbortSignal;
  /** The same for who waits for something short. */
  readonly notice: AbortNotice;
};

/** Of one attempt of a write. */
export type Charged = {
  readonly object: KubeObject;
  /** The version that it would have taken the place of. */
  readonly over: string | undefined;
};

/** From the form of one resource to that of another; may have to ask somebody. */
export type ConvertObject = (
  object: KubeObject,
  from: Resource,
  to: Resource,
  signal: AbortSignal,
) => KubeObject | Promise<KubeObject>;

export type AdmissionPlugin = {
  /** As in kube-apiserver's flags. */
  readonly name: string;
  /** Whether it can have anything to say, for good: the answer is kept. Without it: always. */
  readonly handles?: (operation: AdmissionOperation, resource: Resource, subresource: string) => boolean;
  /** May change the object. */
  readonly admit?: (a: AdmissionAttributes) => void | Promise<void>;
  readonly validate?: (a: AdmissionAttributes) => void | Promise<void>;
};

/** What a policy or webhook that changed the object asks for: the whole mutating phase once more, never a third time. */
export class Reinvocation {
  #isWanted = false;
  #isSecondRun = false;
  /** What plugins keep between the two runs, by their name. */
  readonly notes: Map<string, unknown> = new Map();

  get isWanted(): boolean {
    return this.#isWanted;
  }

  get isSecondRun(): boolean {
    return this.#isSecondRun;
  }

  want(): void {
    this.#isWanted = true;
  }

  begin(): void {
    this.#isSecondRun = true;
  }
}

/** The usual refusal, a 403: under the name in the request, else the object's, else what it will be generated from. */
export function refuse(a: AdmissionAttributes, why: string, causes?: StatusCause[]): StatusError {
  return forbidden(a.resource, refusedName(a), why, causes);
}

function refusedName({ name, object }: AdmissionAttributes): string {
  return name || object?.metadata.name || object?.metadata.generateName || 'Unknown';
}
