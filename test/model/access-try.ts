/** One request to try, with what the one who sends it needs for it, and what its answer may tell if he has that. */
import type { Answer } from '../../src/testing/index.ts';
import type { Random } from '../support/random.ts';
import { ACCOUNTS, HOME, type Kind, markOf, NAMES, NAMESPACES, scopesOf } from './access-world.ts';
import type { Person, Question, RbacModel, ResourceQuestion } from './rbac-model.ts';

export type Try = {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly accept?: string;
  readonly body?: object;
  /** Asked in this order; the first that is not given is the one refused. */
  readonly needs: readonly Question[];
  /** The answer to one who may: these codes. */
  readonly codes: readonly number[];
  /** Of which objects it may tell such a one. */
  readonly tells: readonly string[];
  /** What must be put back after it. */
  readonly touches?: { readonly kind: Kind; readonly namespace: string };
  /** Otherwise it leaves everything as it was. */
  readonly isWrite?: true;
  /** A stream: read up to the end of what is there, and kept. */
  readonly isWatch?: true;
  /** A refusal of another kind than the lack of a right in `needs`, though those are all given. */
  readonly alsoForbidden?: (model: RbacModel, person: Person) => boolean;
  /** Looks closer at the answer to one who may; throws. */
  readonly look?: (answer: Answer, model: RbacModel, person: Person) => void;
};

export type Maker = (random: Random) => Try;

export const JSON_TYPE = 'application/json';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

export function anAccept(random: Random, kind: Kind, isList: boolean): string {
  const partial = `${JSON_TYPE};as=PartialObjectMetadata${isList ? 'List' : ''};v=v1;g=meta.k8s.io`;
  return random.pick([JSON_TYPE, TABLE, partial, 'application/yaml', ...(kind.isCustom ? [] : [PROTOBUF])]);
}

export function need(kind: Kind, verb: string, namespace: string, name: string, subresource = ''): ResourceQuestion {
  return { verb, group: kind.group, resource: kind.plural, subresource, namespace, name };
}

/** The marks of a kind's objects in a namespace, or in all, whose names fit. */
export function marksOf(kind: Kind, namespace: string, fits: (name: string) => boolean = () => true): string[] {
  const namespaces = namespace === '' ? scopesOf(kind) : [namespace];
  const marks = namespaces.flatMap((one) =>
    [...NAMES, 'new'].filter(fits).map((name) => markOf(kind.plural, one, name)),
  );
  const isEverywhere = namespace === '' && kind.plural === 'serviceaccounts';
  return isEverywhere ? [...marks, ...ACCOUNTS.filter(fits).map((name) => markOf(kind.plural, HOME, name))] : marks;
}

export function aScope(random: Random, kind: Kind): string {
  return kind.isNamespaced ? random.pick(NAMESPACES) : '';
}
