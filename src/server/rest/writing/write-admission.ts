/**
 * The way of one write through admission: both phases, with what the request says for all its attempts.
 *
 * A write that no plugin cares about passes at once; nothing is made for it.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { AdmissionOperation, Charged } from '../../admission/admission.ts';
import type { AdmissionChain } from '../../admission/admission-chain.ts';
import { WriteAttributes, type WriteFacts } from '../../admission/write-attributes.ts';
import { annotateAudit } from '../../audit/audit-annotations.ts';
import type { BodyType } from '../../codec/index.ts';
import { whenThere } from '../../event-loop/when-there.ts';
import type { Resource } from '../../registry/resource.ts';
import type { AbortNotice } from '../../request/abort-notice.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { StrategyContext } from '../../strategy/strategy.ts';
import type { DeleteOptions } from '../input/delete-options.ts';
import type { WriteOptions } from '../input/write-options.ts';

type Place = { readonly namespace: string; readonly name: string; readonly subresource: string };

export class WriteAdmission {
  readonly #chain: AdmissionChain;
  readonly #facts: WriteFacts;
  readonly #isEmpty: boolean;

  constructor(chain: AdmissionChain, facts: WriteFacts) {
    this.#chain = chain;
    this.#facts = facts;
    this.#isEmpty = chain.isEmptyFor(facts.operation, facts.resource, facts.subresource);
  }

  /** The mutating phase: the object as it goes on to its strategy, which may be another one. */
  admit(
    object: KubeObject,
    old: KubeObject | undefined,
    strategyContext: StrategyContext,
  ): KubeObject | Promise<KubeObject> {
    if (this.#isEmpty) return object;
    const attributes = new WriteAttributes(this.#facts, strategyContext, object, old);
    return whenThere(this.#chain.admit(attributes), () => attributes.object!);
  }

  /** The validating phase, on the object as it will be stored. */
  validate(object: KubeObject, old: KubeObject | undefined, strategyContext: StrategyContext): void | Promise<void> {
    if (this.#isEmpty) return;
    return this.#chain.validate(new WriteAttributes(this.#facts, strategyContext, object, old));
  }

  /** Both phases of a deletion. */
  async admitDeletion(old: KubeObject, strategyContext: StrategyContext): Promise<void> {
    if (this.#isEmpty) return;
    await this.#chain.admit(new WriteAttributes(this.#facts, strategyContext, undefined, old));
    await this.#chain.validate(new WriteAttributes(this.#facts, strategyContext, undefined, old));
  }
}

export type AdmittedWrite = {
  readonly operation: AdmissionOperation;
  readonly resource: Resource;
  readonly place: Place;
  /** A connection has none. */
  readonly options?: WriteOptions | DeleteOptions | undefined;
  /** What the subresource takes, where that is not the resource's own kind. */
  readonly bodyType?: BodyType | undefined;
};

export function admissionOf(
  chain: AdmissionChain,
  context: RequestContext,
  { operation, resource, place, options, bodyType }: AdmittedWrite,
): WriteAdmission {
  return new WriteAdmission(chain, new FactsOfRequest(context, { operation, resource, place, options, bodyType }));
}

/** Not an object with a getter of its own: each of those costs as much as a plugin. */
class FactsOfRequest implements WriteFacts {
  readonly operation: AdmissionOperation;
  readonly resource: Resource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly bodyType: BodyType | undefined;
  charged: Charged | undefined;
  readonly #options: WriteOptions | DeleteOptions | undefined;
  readonly #context: RequestContext;

  constructor(context: RequestContext, { operation, resource, place, options, bodyType }: AdmittedWrite) {
    this.operation = operation;
    this.resource = resource;
    this.subresource = place.subresource;
    this.namespace = place.namespace;
    this.name = place.name;
    this.bodyType = bodyType;
    this.charged = undefined;
    this.#options = options;
    this.#context = context;
  }

  get user(): UserInfo {
    return this.#context.user;
  }

  get isDryRun(): boolean {
    return this.#options?.isDryRun ?? false;
  }

  get signal(): AbortSignal {
    return this.#context.signal; // made when somebody asks
  }

  get notice(): AbortNotice {
    return this.#context.notice;
  }

  options(): JsonObject | null {
    return this.operation === 'CONNECT' || !this.#options ? null : shownOptions(this.operation, this.#options);
  }

  annotate(key: string, value: string): void {
    annotateAudit(this.#context, key, value);
  }
}

const KINDS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** As the client gave them; a patch is by now a create or an update, and has their options. */
function shownOptions(operation: keyof typeof KINDS, options: WriteOptions | DeleteOptions): JsonObject {
  const [kind, apiVersion] = [KINDS[operation], 'meta.k8s.io/v1'];
  const dryRun = options.isDryRun && { dryRun: ['All'] };
  if (!('preconditions' in options)) return { kind, apiVersion, ...dryRun, ...options.given };
  const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy } = options;
  return {
    kind,
    apiVersion,
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(preconditions && { preconditions }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
    ...dryRun,
  };
}
