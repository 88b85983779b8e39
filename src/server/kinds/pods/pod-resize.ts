/**
 * The resources of a pod that is there already, by the subresource `resize`: of its containers, of those that run before
 * them, and of the pod as a whole. Only processor and memory change, nothing that was asked for is taken back, and the pod
 * stays one of its class.
 */
import { type FieldError, forbiddenValue, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import { isEmptyMap, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { mirrorPod } from './pod-annotations.ts';
import { restore, sameField, specOf } from './pod-update.ts';
import { qualityOfService } from './quality-of-service.ts';

const lists = ['containers', 'initContainers'] as const;
const parts = ['requests', 'limits'] as const;
const usual = ['cpu', 'memory'];

/** Makes `spec`, a copy of what it was, what is asked for; undefined if its containers are others: that is refused as it is. */
export function takeResources(spec: JsonObject, asked: JsonObject): JsonObject | undefined {
  if (lists.some((list) => objectsAt(asked, list).length !== objectsAt(spec, list).length)) return undefined;
  for (const list of lists) {
    const containers = objectsAt(asked, list);
    const isSame = objectsAt(spec, list).every((container, index) => container.name === containers[index]!.name);
    if (!isSame) spec[list] = cloneJson(containers as JsonObject[]);
    else
      for (const [index, container] of objectsAt(spec, list).entries()) {
        const { resources, resizePolicy } = cloneJson(containers[index]!);
        container.resources = resources ?? {};
        restore(container, resizePolicy === undefined ? {} : { resizePolicy }, 'resizePolicy');
      }
  }
  restore(spec, cloneJson(asked), 'resources');
  return spec;
}

const onlyUsual = 'only cpu and memory resources are mutable';

export function validateResize(pod: KubeObject, old: KubeObject): FieldError[] {
  const [next, before] = [specOf(pod), specOf(old)];
  if (old.metadata.annotations?.[mirrorPod] !== undefined) return [forbiddenValue('', 'static pods cannot be resized')];
  if (textAt(objectAt(before, 'os'), 'name') === 'windows')
    return [forbiddenValue('', 'windows pods cannot be resized')];
  const errors: FieldError[] = [];
  const status = objectAt(old as JsonObject, 'status');
  const quality = textAt(status, 'qosClass') || qualityOfService(before);
  if (quality !== qualityOfService(next))
    errors.push(invalidValue('spec', quality, 'Pod QOS Class may not change as a result of resizing'));
  if (!isResizable(status)) errors.push(forbiddenValue('spec', 'Pod running on node without support for resize'));
  const munged = cloneJson(next);
  if (asksAsWhole(before) || asksAsWhole(next)) checkWhole(munged, before, errors);
  const moved = findMoved(next, before);
  if (moved.length > 0) return [...errors, ...moved];
  for (const list of ['initContainers', 'containers'])
    for (const [index, container] of objectsAt(before, list).entries())
      checkRemoved(objectsAt(next, list)[index]!, container, `spec.${list}[${index}].resources`, 'resource', errors);
  checkContainers(munged, before, errors);
  checkInitial(munged, before, errors);
  if (errors.length === 0 && !sameField(munged, before)) errors.push(forbiddenValue('spec', onlyUsual));
  return errors;
}

/** Nodes that cannot do it do not say what a running container was given. */
function isResizable(status: JsonObject | undefined): boolean {
  const running = objectsAt(status, 'containerStatuses').find((one) => objectAt(objectAt(one, 'state'), 'running'));
  return !running || objectAt(running, 'resources') !== undefined;
}

function asksAsWhole(spec: JsonObject): boolean {
  return parts.some((part) => !isEmptyMap(objectAt(spec, 'resources')?.[part]));
}

function checkWhole(munged: JsonObject, before: JsonObject, errors: FieldError[]): void {
  if (before.resources !== undefined && munged.resources === undefined) {
    errors.push(forbiddenValue('spec.resources', 'pod-level resources cannot be removed'));
    return;
  }
  checkRemoved(munged, before, 'spec.resources', 'pod-level resource', errors);
  const resources = withUsualOf(objectAt(munged, 'resources') ?? {}, objectAt(before, 'resources') ?? {});
  if (before.resources === undefined && isEmptyMap(resources)) delete munged.resources;
  else munged.resources = resources;
  if (!sameField(munged.resources, before.resources)) errors.push(forbiddenValue('spec', `${onlyUsual} at pod-level`));
}

/** Containers that came, went or have another name or place. */
function findMoved(next: JsonObject, before: JsonObject): FieldError[] {
  return lists.flatMap((list) => {
    const [now, was] = [objectsAt(next, list), objectsAt(before, list)];
    if (now.length !== was.length)
      return [forbiddenValue(`spec.${list}`, `${list} may not be added or removed on resize`)];
    return was.flatMap(({ name }, index) =>
      name === now[index]!.name
        ? []
        : [forbiddenValue(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)],
    );
  });
}

/** Of the `resources` of two owners. */
function checkRemoved(next: JsonObject, old: JsonObject, path: string, what: string, errors: FieldError[]): void {
  const [after, before] = [objectAt(next, 'resources'), objectAt(old, 'resources')];
  for (const part of parts) {
    const [now, was] = [objectAt(after, part) ?? {}, objectAt(before, part) ?? {}];
    if (Object.keys(was).some((name) => now[name] === undefined))
      errors.push(forbiddenValue(`${path}.${part}`, `${what} ${part} cannot be removed`));
  }
}

function checkContainers(munged: JsonObject, before: JsonObject, errors: FieldError[]): void {
  for (const [index, container] of objectsAt(munged, 'containers').entries()) {
    const was = objectsAt(before, 'containers')[index]!;
    dropUsual(container, was);
    if (!sameField(container, was)) errors.push(forbiddenValue('spec', onlyUsual));
  }
}

/** Of containers that run before the others, and only once, there is nothing to start again. */
function checkInitial(munged: JsonObject, before: JsonObject, errors: FieldError[]): void {
  for (const [index, container] of objectsAt(munged, 'initContainers').entries()) {
    const was = objectsAt(before, 'initContainers')[index]!;
    const path = `spec.initContainers[${index}]`;
    const isChanged = !sameField(container, was);
    dropUsual(container, was);
    if (!sameField(container, was)) {
      const why = 'only cpu and memory resources for init or sidecar containers are mutable';
      errors.push(forbiddenValue(path, why));
    }
    if (!isChanged || container.restartPolicy === 'Always') continue;
    if (objectsAt(container, 'resizePolicy').some((policy) => policy.restartPolicy === 'RestartContainer')) {
      const why = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
      errors.push(forbiddenValue(path, why));
    }
  }
}

/** Gives a container the processor and memory that it had; claims of devices are not resized, and so not kept. */
function dropUsual(container: JsonObject, old: JsonObject): void {
  const { claims: _claims, ...resources } = objectAt(container, 'resources') ?? {};
  container.resources = withUsualOf(resources, objectAt(old, 'resources') ?? {});
}

/** With the processor and memory of `old`: all else is then compared. */
function withUsualOf(resources: JsonObject, old: JsonObject): JsonObject {
  const result: JsonObject = { ...resources };
  for (const part of parts) {
    const amounts: JsonObject = { ...objectAt(resources, part) };
    for (const name of usual) restore(amounts, objectAt(old, part) ?? {}, name);
    restore(result, isEmptyMap(amounts) ? {} : { [part]: amounts }, part);
  }
  return result;
}
