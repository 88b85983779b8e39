/**
 * Patches of every kind against an object that is as large as one may be: many operations, long ways, copies of copies,
 * lists merged by key, orders, owners in conflict.
 */
import type { ServerTarget, StallRequest } from '../../support/victim/server-target.ts';
import type { Played, StallCase } from '../../support/victim/stall-case.ts';
import { LONGEST_BODY } from './body-cases.ts';
import { repeated, times } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/stall/deployments';
const JSON_PATCH = 'application/json-patch+json';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

type Made = { readonly body: string | object; readonly query?: string };

/** Against a config map, or what `stored` says. */
function patch(
  type: string,
  name: string,
  limit: number,
  make: (size: number, label: string) => Made | readonly Made[],
  stored: (size: number, label: string) => StallRequest | undefined = (_, label) => mapOf(label, { a: 'b' }),
): StallCase<ServerTarget> {
  const pathOf = (request: StallRequest | undefined, label: string) => `${request?.path ?? MAPS}/${label}`;
  return {
    name: `${type}: ${name}`,
    covers: [`patch:${type}`],
    limit,
    before: async (target, size, label) => {
      const request = stored(size, label);
      if (request) await target.must(request);
    },
    play: (target, size, label): Promise<Played> => {
      const path = pathOf(stored(size, label), label);
      const asked = [make(size, label)].flat();
      return target.play(
        ...asked.map(({ body, query = '' }) => ({ method: 'PATCH', path: `${path}${query}`, type, body })),
      );
    },
    after: (target, size, label) => target.ask({ method: 'DELETE', path: pathOf(stored(size, label), label) }),
  };
}

function mapOf(name: string, data: object): StallRequest {
  return { method: 'POST', path: MAPS, body: { metadata: { name }, data } };
}

/** `metadata` is the only place where a config map has lists and free maps. */
function annotated(name: string, annotations: object): StallRequest {
  return { method: 'POST', path: MAPS, body: { metadata: { name, annotations } } };
}

function deployment(name: string, containers: readonly object[]): StallRequest {
  return { method: 'POST', path: DEPLOYMENTS, body: deploymentObject(name, containers) };
}

function deploymentObject(name: string, containers: readonly object[]): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template },
  };
}

const container = (i: number) => ({ name: `c${i}`, image: 'i' });
const finalizers = (count: number) => times(count, (i) => `a.b/c${i}`);

const jsonCases = [
  patch(JSON_PATCH, 'many tests', 10_000, (size) => ({
    body: times(size, () => ({ op: 'test', path: '/data/a', value: 'b' })),
  })),
  patch(JSON_PATCH, 'many additions', 10_000, (size) => ({
    body: times(size, (i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' })),
  })),
  patch(JSON_PATCH, 'many additions at the head of a list', 10_000, (size) => ({
    body: [
      { op: 'add', path: '/metadata/finalizers', value: [] },
      ...times(size - 1, (i) => ({ op: 'add', path: '/metadata/finalizers/0', value: `a.b/c${i}` })),
    ],
  })),
  patch(
    JSON_PATCH,
    'many removals at the head of a long list',
    10_000,
    (size) => ({ body: times(size, () => ({ op: 'remove', path: '/metadata/finalizers/0' })) }),
    (size, label) => ({
      method: 'POST',
      path: MAPS,
      body: { metadata: { name: label, finalizers: finalizers(size) } },
    }),
  ),
  patch(JSON_PATCH, 'copies that double', 10_000, (size) => ({
    body: [
      { op: 'add', path: '/x', value: { a: 'y'.repeat(1000) } },
      ...times(size - 1, (i) => ({ op: 'copy', from: '/x', path: `/x/k${i}` })),
    ],
  })),
  patch(JSON_PATCH, 'copies of a large value', 10_000, (size) => ({
    body: [
      { op: 'add', path: '/x', value: 'y'.repeat(size * 100) },
      ...times(size - 1, (i) => ({ op: 'copy', from: '/x', path: `/data/k${i}` })),
    ],
  })),
  patch(JSON_PATCH, 'moves of a deep value', 10_000, (size) => ({
    body: times(size, (i) => ({
      op: 'move',
      from: i % 2 ? '/data/b' : '/data/a',
      path: i % 2 ? '/data/a' : '/data/b',
    })),
  })),
  patch(JSON_PATCH, 'tests of a large value', 60_000, (size) => {
    const value = Object.fromEntries(times(size / 4, (i) => [`k${i}`, 'v']));
    const test = { op: 'test', path: '/data', value };
    return { body: [{ op: 'add', path: '/data', value }, test, test, test] };
  }),
  patch(JSON_PATCH, 'a long way', LONGEST_BODY, (size) => ({
    body: [{ op: 'add', path: '/a'.repeat(size / 2), value: 1 }],
  })),
  patch(JSON_PATCH, 'a way of escapes', LONGEST_BODY, (size) => ({
    body: [{ op: 'add', path: `/data/${'~1'.repeat(size / 2)}`, value: 'v' }],
  })),
  patch(JSON_PATCH, 'a long index', LONGEST_BODY, (size) => ({
    body: [{ op: 'add', path: `/metadata/finalizers/${'1'.repeat(size)}`, value: 'v' }],
  })),
  patch(JSON_PATCH, 'more operations than are allowed', 60_000, (size) => ({
    body: times(size, () => ({ op: 'test', path: '/data/a', value: 'b' })),
  })),
  patch(JSON_PATCH, 'a long operation', LONGEST_BODY, (size) => ({ body: [{ op: 'a'.repeat(size), path: '/a' }] })),
];

const mergeCases = [
  patch(MERGE, 'many keys', LONGEST_BODY, (size) => ({
    body: `{"data":{${repeated((i) => `"k${i}":"v",`, size)}"z":"z"}}`,
  })),
  patch(MERGE, 'many removals', LONGEST_BODY, (size) => ({
    body: `{"data":{${repeated((i) => `"k${i}":null,`, size)}"z":null}}`,
  })),
  patch(MERGE, 'deep objects', LONGEST_BODY, (size) => ({
    body: `${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`,
  })),
  patch(MERGE, 'unknown fields', LONGEST_BODY, (size) => ({ body: `{${repeated((i) => `"u${i}":1,`, size)}"z":1}` })),
  patch(MERGE, 'duplicate fields', LONGEST_BODY, (size) => ({ body: `{${repeated(() => '"u":1,', size)}"z":1}` })),
  patch(MERGE, 'a result that its type refuses', LONGEST_BODY, (size) => ({ body: { data: 'x'.repeat(size) } })),
  patch(MERGE, 'a list for an object', LONGEST_BODY, (size) => ({ body: `[${repeated(() => '1,', size)}1]` })),
];

const strategicCases = [
  patch(
    STRATEGIC,
    'many new items',
    20_000,
    (size) => ({ body: podSpec({ containers: times(size, container) }) }),
    (_, label) => deployment(label, [container(0)]),
  ),
  patch(
    STRATEGIC,
    'many items that are there',
    4_000,
    (size) => ({ body: podSpec({ containers: times(size, (i) => ({ name: `c${i}`, image: 'j' })) }) }),
    (size, label) => deployment(label, times(size, container)),
  ),
  patch(
    STRATEGIC,
    'items in a new order',
    4_000,
    (size) => ({
      body: podSpec({
        '$setElementOrder/containers': times(size, (i) => ({ name: `c${size - 1 - i}` })),
        containers: times(size, (i) => ({ name: `c${i}`, image: 'j' })),
      }),
    }),
    (size, label) => deployment(label, times(size, container)),
  ),
  patch(
    STRATEGIC,
    'many items deleted',
    4_000,
    (size) => ({ body: podSpec({ containers: times(size, (i) => ({ name: `c${i}`, $patch: 'delete' })) }) }),
    (size, label) => deployment(label, times(size, container)),
  ),
  patch(STRATEGIC, 'many removals from a list of texts', 20_000, (size) => ({
    body: { metadata: { '$deleteFromPrimitiveList/finalizers': finalizers(size) } },
  })),
  patch(
    STRATEGIC,
    'additions to a list of texts',
    20_000,
    (size) => ({ body: { metadata: { finalizers: times(size, (i) => `d.e/f${i}`) } } }),
    (size, label) => ({
      method: 'POST',
      path: MAPS,
      body: { metadata: { name: label, finalizers: finalizers(size / 2) } },
    }),
  ),
  patch(
    STRATEGIC,
    'owners merged',
    10_000,
    (size) => ({ body: { metadata: { ownerReferences: times(size, ownerOf) } } }),
    (size, label) => ({
      method: 'POST',
      path: MAPS,
      body: { metadata: { name: label, ownerReferences: times(Math.min(size / 4, 2_000), ownerOf) } },
    }),
  ),
  patch(STRATEGIC, 'keys to retain', LONGEST_BODY, (size) => ({
    body: `{"data":{"$retainKeys":[${repeated((i) => `"k${i}",`, size)}"a"]}}`,
  })),
  patch(STRATEGIC, 'directives that there are not', LONGEST_BODY, (size) => ({
    body: { data: { $patch: 'x'.repeat(size) } },
  })),
];

const applied = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const keys = (size: number, value = 'v') => Object.fromEntries(times(size, (i) => [`k${i}`, value]));

const applyCases = [
  patch(
    APPLY,
    'many keys',
    60_000,
    (size, label) => ({ body: applied(label, keys(size)), query: '?fieldManager=a' }),
    () => undefined,
  ),
  patch(
    APPLY,
    'many keys, by two managers in conflict',
    30_000,
    (size, label) => [
      { body: applied(label, keys(size)), query: '?fieldManager=a' },
      { body: applied(label, keys(size, 'w')), query: '?fieldManager=b' },
    ],
    () => undefined,
  ),
  patch(
    APPLY,
    'many keys, taken over and given up',
    30_000,
    (size, label) => [
      { body: applied(label, keys(size)), query: '?fieldManager=a' },
      { body: applied(label, keys(size, 'w')), query: '?fieldManager=b&force=true' },
      { body: applied(label, {}), query: '?fieldManager=b' },
    ],
    () => undefined,
  ),
  patch(
    APPLY,
    'many items of a list',
    8_000,
    (size, label) => ({ body: deploymentObject(label, times(size, container)), query: '?fieldManager=a' }),
    (_, label) => deployment(label, [container(0)]),
  ),
  patch(
    APPLY,
    'one item many times',
    8_000,
    (size, label) => ({
      body: deploymentObject(
        label,
        times(size, () => container(0)),
      ),
      query: '?fieldManager=a',
    }),
    (_, label) => deployment(label, [container(0)]),
  ),
  patch(APPLY, 'YAML with aliases', LONGEST_BODY, (size, label) => ({
    body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${label}}\na: &a {b: c}\nx: [${'*a, '.repeat(size / 4)}]\n`,
    query: '?fieldManager=a',
  })),
  patch(APPLY, 'YAML with duplicate keys', LONGEST_BODY, (size, label) => ({
    body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${label}}\n${'a: 1\n'.repeat(size / 5)}`,
    query: '?fieldManager=a',
  })),
  patch(APPLY, 'many documents', LONGEST_BODY, (size, label) => ({
    body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${label}}\n${'---\na: 1\n'.repeat(size / 9)}`,
    query: '?fieldManager=a',
  })),
  patch(APPLY, 'fields that the type does not have', LONGEST_BODY, (size, label) => ({
    body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${label}"},${repeated((i) => `"u${i}":1,`, size)}"z":1}`,
    query: '?fieldManager=a',
  })),
];

/** What was stored first is patched many times: its history of managers must not grow the work. */
const otherCases: StallCase<ServerTarget>[] = [
  {
    ...patch(APPLY, 'of an object with many managers', 400, (_, label) => ({
      body: applied(label, { z: 'v' }),
      query: '?fieldManager=last',
    })),
    before: async (target, size, label) => {
      await target.must(mapOf(label, { a: 'b' }));
      for (let i = 0; i < size; i++)
        await target.must({
          method: 'PATCH',
          path: `${MAPS}/${label}?fieldManager=m${i}`,
          type: APPLY,
          body: applied(label, { [`k${i}`]: 'v' }),
        });
    },
  },
  patch(MERGE, 'again and again', 300, (size) =>
    times(size, (i) => ({ body: { data: { a: `v${i}` } }, query: `?fieldManager=m${i}` })),
  ),
  patch(
    MERGE,
    'small, of a large object',
    60,
    (size) => times(size, (i) => ({ body: { data: { z: `v${i}` } } })),
    (_, label) => annotated(label, { a: 'x'.repeat(200_000) }),
  ),
];

export const patchCases: readonly StallCase<ServerTarget>[] = [
  ...jsonCases,
  ...mergeCases,
  ...strategicCases,
  ...applyCases,
  ...otherCases,
];

function ownerOf(i: number): object {
  return { apiVersion: 'v1', kind: 'Pod', name: `p${i}`, uid: `u${i}` };
}

function podSpec(spec: object): object {
  return { spec: { template: { spec } } };
}
