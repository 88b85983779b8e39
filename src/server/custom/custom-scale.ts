/**
 * The scale of a custom object: a count that is wanted, a count that is there, and a selector, each found at the path
 * its definition names.
 */
import { type JsonObject, type JsonValue, type KubeObject, plainError } from '../../api/index.ts';
import type { ScalePaths } from './definition.ts';
import { asObject } from './structural.ts';

export function customScale(object: KubeObject, paths: ScalePaths): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const value = object as unknown as JsonObject;
  const wanted = readNumber(value, paths.specReplicasPath);
  if (wanted === undefined)
    throw plainError(`Internal error occurred: the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`);
  const selector = paths.labelSelectorPath === undefined ? undefined : valueAtPath(value, paths.labelSelectorPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: name!,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(creationTimestamp && { creationTimestamp }),
    },
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: {
      replicas: readNumber(value, paths.statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && selector !== '' && { selector }),
    },
  };
}

/** The object with the count that the scale wants; what is missing on the way is made. */
export function withReplicas(object: KubeObject, replicas: number, { specReplicasPath }: ScalePaths): KubeObject {
  const names = namesOf(specReplicasPath);
  let owner = object as unknown as JsonObject;
  for (const name of names.slice(0, -1)) {
    const child = asObject(owner[name]) ?? {};
    owner[name] = child;
    owner = child;
  }
  owner[names.at(-1)!] = replicas;
  return object;
}

export function readNumber(object: JsonObject, path: string): number | undefined {
  const value = valueAtPath(object, path);
  return typeof value === 'number' ? value : undefined;
}

function valueAtPath(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of namesOf(path)) {
    const owner: JsonObject | undefined = asObject(value);
    value = owner && Object.hasOwn(owner, name) ? owner[name] : undefined;
  }
  return value;
}

function namesOf(path: string): string[] {
  return path.replace(/^\./, '').split('.');
}
