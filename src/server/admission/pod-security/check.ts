/** What a check of the Pod Security Standards is, and the words that all of them put their findings in. */
import type { JsonObject } from '../../../api/index.ts';
import { mapAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';

/** A Pod, or the template of one. */
export type PodLike = {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
};

export function podLike(pod: JsonObject): PodLike {
  return { annotations: mapAt(objectAt(pod, 'metadata'), 'annotations') ?? {}, spec: objectAt(pod, 'spec') ?? {} };
}

/** What is wrong, and what of the Pod makes it so; undefined: nothing. */
export type Finding = { readonly reason: string; readonly detail: string };
export type CheckPod = (pod: PodLike) => Finding | undefined;

export type Check = {
  readonly id: string;
  /** From which minor version on it is done how; before the first of them it is not done. */
  readonly versions: readonly {
    readonly since: number;
    readonly check: CheckPod;
    readonly instead?: readonly string[];
  }[];
};

/** All containers of all kinds, in their order. */
export function containersOf({ spec }: PodLike): readonly JsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => objectsAt(spec, list));
}

export const contextOf = (owner: JsonObject): JsonObject | undefined => objectAt(owner, 'securityContext');

/** The names of the containers that `isBad` finds. */
export function namesWhere(pod: PodLike, isBad: (container: JsonObject) => boolean): string[] {
  return containersOf(pod)
    .filter(isBad)
    .map((container) => textAt(container, 'name'));
}

export function plural(one: string, many: string, count: number): string {
  return count === 1 ? one : many;
}

export function quoted(texts: Iterable<string>): string {
  return `"${[...texts].join('", "')}"`;
}

/** Each once, in order. */
export function sorted(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort();
}

/** `container "a"`, `containers "a", "b"` */
export function containers(names: readonly string[]): string {
  return `${plural('container', 'containers', names.length)} ${quoted(names)}`;
}

/** Whoever said it: `pod and container "a"`; empty if nobody did. */
export function setters(isPod: boolean, names: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(names.length > 0 ? [containers(names)] : [])].join(' and ');
}

export function isWindows({ spec }: PodLike): boolean {
  return textAt(objectAt(spec, 'os'), 'name') === 'windows';
}

/** Root in a user namespace of its own is not root on the node. */
export function hasOwnUsers({ spec }: PodLike): boolean {
  return spec.hostUsers === false;
}
