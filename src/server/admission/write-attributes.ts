/**
 * One write as admission sees it: made anew for each phase and each attempt, since objects and names differ between them.
 */
import { internalError, type JsonObject, type KubeObject } from '../../api/index.ts';
import { type BodyType, checkDecoded } from '../codec/index.ts';
import { strategyOf } from '../kinds/strategy-of.ts';
import type { Resource } from '../registry/resource.ts';
import type { AbortNotice } from '../request/abort-notice.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StrategyContext } from '../strategy/strategy.ts';
import {
  type AdmissionAttributes,
  type AdmissionOperation,
  type Charged,
  type GroupVersionKind,
  Reinvocation,
} from './admission.ts';

/** What is the same for all phases and attempts of a write. */
export type WriteFacts = {
  readonly operation: AdmissionOperation;
  readonly resource: Resource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /** Null for a connection. */
  options(): JsonObject | null;
  /** What the subresource takes, where that is not the resource's own kind. */
  readonly bodyType?: BodyType | undefined;
  annotate(key: string, value: string): void;
  readonly signal: AbortSignal;
  readonly notice: AbortNotice;
  charged?: Charged | undefined;
};

export class WriteAttributes implements AdmissionAttributes {
  readonly #facts: WriteFacts;
  object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly context: StrategyContext;
  readonly reinvocation: Reinvocation = new Reinvocation();
  #isReplaced = false;

  constructor(
    facts: WriteFacts,
    context: StrategyContext,
    object: KubeObject | undefined,
    oldObject: KubeObject | undefined,
  ) {
    this.#facts = facts;
    this.context = context;
    this.object = object;
    this.oldObject = oldObject;
  }

  get operation(): AdmissionOperation {
    return this.#facts.operation;
  }

  get resource(): Resource {
    return this.#facts.resource;
  }

  get subresource(): string {
    return this.#facts.subresource;
  }

  get kind(): GroupVersionKind {
    const { bodyType, resource } = this.#facts;
    if (!bodyType) return { group: resource.group, version: resource.version, kind: resource.kind };
    const [version = '', group = ''] = bodyType.groupVersion.split('/').reverse();
    return { group, version, kind: bodyType.kind };
  }

  /** A namespace lies in itself. */
  get namespace(): string {
    const { resource, namespace } = this.#facts;
    return resource.group === '' && resource.plural === 'namespaces' ? this.name : namespace;
  }

  /** A collection is deleted without naming its members. */
  get name(): string {
    return this.#facts.name || (this.operation === 'CREATE' ? (this.object?.metadata?.name ?? '') : '');
  }

  get user(): UserInfo {
    return this.#facts.user;
  }

  get isDryRun(): boolean {
    return this.#facts.isDryRun;
  }

  get options(): JsonObject | null {
    return this.#facts.options();
  }

  get signal(): AbortSignal {
    return this.#facts.signal;
  }

  get notice(): AbortNotice {
    return this.#facts.notice;
  }

  get charged(): Charged | undefined {
    return this.#facts.charged;
  }

  set charged(charged: Charged | undefined) {
    this.#facts.charged = charged;
  }

  /** Whether anybody has put another object in the place of the one that was sent. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  replaceObject(object: JsonObject): void {
    const { bodyType, resource } = this.#facts;
    const decoded = checkDecoded(object, bodyType ?? resource, 'Ignore', (why) => internalError(why));
    const fresh = decoded.object as unknown as KubeObject;
    if (this.operation !== 'CONNECT') fresh.metadata ??= {};
    if (!bodyType) strategyOf(resource).setDefaults?.(fresh);
    this.object = fresh;
    this.#isReplaced = true;
  }

  annotate(key: string, value: string): void {
    this.#facts.annotate(key, value);
  }
}
