/**
 * Every list, map and text of every built-in kind made large, one at a time, from the schemas: what a kind's rules do
 * with each of them must not grow faster than they do. A kind that is added is played without a word here.
 *
 * In the shorter run each place gets a body of `SHORT_BYTES`; a sweep gives it all that a body may have.
 */
import type { JsonObject } from '../../../src/api/index.ts';
import { allResources, collectionPath, type Growable, growablesIn, grown } from '../../support/schema-samples.ts';
import { requestCase, type ServerTarget } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { LONGEST_BODY } from './body-cases.ts';
import { repeated } from './text-shapes.ts';

const SHORT_BYTES = 300_000;

export function kindCases(isSweep: boolean): readonly StallCase<ServerTarget>[] {
  const bytes = isSweep ? LONGEST_BODY : SHORT_BYTES;
  const seen = new Map<string, number>();
  // A type that is part of many kinds, as that of a pod, is looked at in two of them.
  const isNew = ({ field }: Growable) => {
    const times = (seen.get(field) ?? 0) + 1;
    seen.set(field, times);
    return isSweep || times <= 2;
  };
  return allResources()
    .filter(({ verbs }) => verbs.includes('create'))
    .flatMap((resource) =>
      growablesIn(resource.schema)
        .filter(({ path }) => path[0] !== 'apiVersion' && path[0] !== 'kind')
        // What all kinds have alike is looked at in one of them.
        .filter(({ path }) => path[0] !== 'metadata' || resource.plural === 'configmaps')
        .filter(isNew)
        .map((place) => {
          const one = JSON.stringify(grown(resource.schema, place, 1)).length;
          const each = Math.max(1, JSON.stringify(grown(resource.schema, place, 101)).length - one) / 100;
          const limit = Math.floor(bytes / each);
          const { group, version, plural } = resource;
          return requestCase(
            `${plural}.${group}/${version} with a large ${place.path.join('.')}`,
            [`kind:${plural}.${group}/${version}`],
            limit,
            (size, name) => ({
              method: 'POST',
              path: `${collectionPath(resource, 'stall')}?dryRun=All`,
              body: withName(grown(resource.schema, place, size), name),
            }),
          );
        }),
    );
}

function withName(object: JsonObject, name: string): JsonObject {
  return { ...object, metadata: { name, ...(object.metadata as JsonObject | undefined) } };
}

/** Every subresource that takes a body, of an object that is not there: what is read before that is known. */
export function subresourceCases(): readonly StallCase<ServerTarget>[] {
  return allResources().flatMap((resource) =>
    resource.subresources.flatMap(({ name, verbs }) =>
      Object.entries(METHODS)
        .filter(([verb]) => verbs.includes(verb))
        .map(([verb, method]) =>
          requestCase(
            `${verb} of ${resource.plural}/${name} with many fields`,
            [`subresource:${name}`],
            SHORT_BYTES,
            (size) => ({
              method,
              path: `${collectionPath(resource, 'stall')}/none/${name}`,
              type: verb === 'patch' ? 'application/merge-patch+json' : 'application/json',
              body: `{"metadata":{"labels":{${repeated((i) => `"l${i}":"v",`, size / 2)}"z":"v"}},${repeated((i) => `"u${i}":1,`, size / 2)}"z":1}`,
            }),
          ),
        ),
    ),
  );
}

const METHODS: Readonly<Record<string, string>> = { create: 'POST', update: 'PUT', patch: 'PATCH' };
