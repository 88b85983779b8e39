/** Every query parameter the server reads, with every shape of text, once long and once repeated. */
import { queryParameters } from '../../support/victim/query-parameters.ts';
import { requestCase, type ServerTarget, type StallRequest } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { escaped, textShapes } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';

/** With room for the path below the limit of both. */
const LONGEST = 15 * 1024;
/** Almost a whole head: refused, and that must not take long either. */
const BEYOND = 900 * 1024;

export const queryCases: readonly StallCase<ServerTarget>[] = Object.entries(queryParameters).flatMap(([name, where]) =>
  where.flatMap((request) => [
    ...Object.entries(textShapes).map(([shape, make]) =>
      queryCase(name, request, shape, (size) => `${name}=${escaped(make)(size)}`),
    ),
    queryCase(name, request, 'repeated', (size) => `${name}=1&`.repeat(size / (name.length + 3))),
    queryCase(name, request, 'escapes', (size) => `${name}=${'%41'.repeat(size / 3)}`),
  ]),
);

export const otherQueryCases: readonly StallCase<ServerTarget>[] = [
  ...Object.entries(textShapes).map(([shape, make]) =>
    requestCase(`a query beyond the limit, of ${shape}`, ['query:*'], BEYOND, (size) => ({
      path: `/version?timeout=${escaped(make)(size)}`,
      as: 'nobody',
    })),
  ),
  requestCase('more parameters than the limit', ['query:*'], BEYOND, (size) => ({
    path: `${MAPS}?${'a&'.repeat(size / 2)}`,
  })),
  requestCase('many parameters that nobody reads', ['query:*'], LONGEST, (size) => ({
    path: `${MAPS}?limit=1&${'a&'.repeat(size / 2)}`,
  })),
  requestCase('broken escapes', ['query:*'], LONGEST, (size) => ({
    path: `${MAPS}?limit=1&a=${'%zz'.repeat(size / 3)}`,
  })),
];

function queryCase(name: string, request: StallRequest, shape: string, text: (size: number) => string) {
  const { method = 'GET', path } = request;
  const mark = path.includes('?') ? '&' : '?';
  return requestCase(`${method} ${path}: ${name} as ${shape}`, [`query:${name}`], LONGEST, (size) => ({
    ...request,
    path: `${path}${mark}${text(size)}`,
  }));
}
