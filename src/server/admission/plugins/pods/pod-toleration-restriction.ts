/**
 * PodTolerationRestriction: Pods of a namespace tolerate what its annotation gives them, and nothing that is not on its list;
 * those that ask for resources also tolerate nodes that are short of memory. There is no configuration for the whole cluster.
 */
import { type JsonObject, plainError } from '../../../../api/index.ts';
import { qualityOfService } from '../../../kinds/pods/quality-of-service.ts';
import { ensureObject, isObject, numberAt, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';
import { withNamespace } from './namespace-of-pod.ts';

const DEFAULTS = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const LISTED = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
const shortOfMemory: JsonObject = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
};

export const podTolerationRestriction: AdmissionPlugin = {
  name: 'PodTolerationRestriction',
  handles: concerns(['CREATE', 'UPDATE'], ['pods']),
  admit: (a) =>
    withNamespace(a, (annotations) => {
      const spec = ensureObject(a.object as JsonObject, 'spec');
      const given = a.operation === 'CREATE' ? tolerationsIn(annotations[DEFAULTS]) : [];
      const told = textAt(objectAt(a.object as JsonObject, 'status'), 'qosClass') || qualityOfService(spec);
      const asking = told === 'BestEffort' ? [] : [shortOfMemory];
      const all = merged([...given, ...objectsAt(spec, 'tolerations'), ...asking]);
      if (all.length > 0) spec.tolerations = [...all];
      mustBeListed(spec, annotations[LISTED]);
    }),
  validate: (a) =>
    withNamespace(a, (annotations) =>
      mustBeListed(objectAt(a.object as JsonObject, 'spec') ?? {}, annotations[LISTED]),
    ),
};

function mustBeListed(spec: JsonObject, text: string | undefined): void {
  const listed = tolerationsIn(text);
  if (listed.length === 0) return;
  const cover = new Cover(listed);
  if (!objectsAt(spec, 'tolerations').every((one) => cover.has(one)))
    throw plainError(
      'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
    );
}

function tolerationsIn(text = ''): readonly JsonObject[] {
  if (text === '') return [];
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed) && parsed.every(isObject)) return parsed;
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    throw plainError(`cannot read tolerations of the namespace: ${err.message}`, { cause: err });
  }
  throw plainError('json: cannot unmarshal into Go value of type []v1.Toleration');
}

/** Without those that another covers; of two that say the same the first stays. */
function merged(all: readonly JsonObject[]): readonly JsonObject[] {
  const seen = new Set<string>();
  const distinct = all.filter((one) => !seen.has(textOf(one)) && seen.add(textOf(one)));
  const cover = new Cover(distinct);
  return distinct.filter((one) => !cover.hasWider(one));
}

function textOf(one: JsonObject): string {
  const fields = ['key', 'operator', 'value', 'effect'].map((field) => textAt(one, field));
  return JSON.stringify([...fields, numberAt(one, 'tolerationSeconds') ?? null]);
}

/**
 * What tolerations come to together. One covers another if it is of the same key or of all keys, of the same effect or of all,
 * of the same value or of all, and lasts as long: so there are eight places to look, however many there are.
 */
class Cover {
  readonly #texts = new Set<string>();
  /** How long the longest lasts, by what it is about. */
  readonly #longest = new Map<string, number>();

  constructor(all: readonly JsonObject[]) {
    for (const one of all) {
      this.#texts.add(textOf(one));
      const [key, effect] = [textAt(one, 'key'), textAt(one, 'effect')];
      const operator = textAt(one, 'operator') || 'Equal';
      if (operator !== 'Exists' && operator !== 'Equal') continue;
      const place = placeOf(key, effect, operator === 'Exists' ? undefined : textAt(one, 'value'));
      this.#longest.set(place, Math.max(this.#longest.get(place) ?? 0, secondsOf(one)));
    }
  }

  has(one: JsonObject): boolean {
    return this.#texts.has(textOf(one)) || this.#covers(one, false);
  }

  /** Another than itself. */
  hasWider(one: JsonObject): boolean {
    return this.#covers(one, true);
  }

  #covers(one: JsonObject, isMember: boolean): boolean {
    const [key, effect, value] = [textAt(one, 'key'), textAt(one, 'effect'), textAt(one, 'value')];
    const operator = textAt(one, 'operator') || 'Equal';
    const own = isMember && placeOf(key, effect, operator === 'Exists' ? undefined : value);
    const values = textAt(one, 'operator') === 'Equal' ? [undefined, value] : [undefined];
    const places = new Set(
      [effect, ''].flatMap((which) => [
        ...values.map((one) => placeOf(key, which, one)),
        placeOf('', which, undefined),
      ]),
    );
    if (own) places.add(own);
    const seconds = secondsOf(one);
    for (const place of places) {
      const longest = this.#longest.get(place);
      if (longest !== undefined && (place === own ? longest > seconds : longest >= seconds)) return true;
    }
    return false;
  }
}

function placeOf(key: string, effect: string, value: string | undefined): string {
  return JSON.stringify([key, effect, value ?? null]);
}

/** For ever, if it does not say; only what makes Pods go lasts some time. */
function secondsOf(one: JsonObject): number {
  return textAt(one, 'effect') === 'NoExecute'
    ? (numberAt(one, 'tolerationSeconds') ?? Number.POSITIVE_INFINITY)
    : Number.POSITIVE_INFINITY;
}
