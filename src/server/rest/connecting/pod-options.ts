/**
 * What is asked of the containers of a Pod: the options of `log`, `exec`, `attach` and `portforward`, from the query as
 * kube-apiserver reads it. They are objects of the API too, as those of `proxy` are, which is how admission sees them.
 *
 * A value that cannot be read is a 400, one that may not be is a 422 on the options.
 */
import {
  badRequest,
  type FieldError,
  forbiddenValue,
  invalid,
  invalidValue,
  type JsonObject,
  quote,
} from '../../../api/index.ts';
import type { BodyType } from '../../codec/index.ts';
import { booleanParameter, integerParameter, parseInteger } from '../../request/query-parameters.ts';
import { schemaFromOpenApi } from '../../schema/from-openapi.ts';

export type LogOptions = {
  readonly container: string;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Lines before it are not wanted. */
  readonly sinceMs: number | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
};

export function readLogOptions(query: URLSearchParams, podName: string, nowMs: number): LogOptions {
  const [tailLines, limitBytes] = [integerParameter(query, 'tailLines'), integerParameter(query, 'limitBytes')];
  const [sinceSeconds, sinceTimeMs] = [integerParameter(query, 'sinceSeconds'), parseTime(query.get('sinceTime'))];
  const faults: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0)
    faults.push(invalidValue('tailLines', tailLines, 'must be greater than or equal to 0'));
  if (limitBytes !== undefined && limitBytes < 1)
    faults.push(invalidValue('limitBytes', limitBytes, 'must be greater than 0'));
  if (sinceSeconds !== undefined && sinceTimeMs !== undefined)
    faults.push(forbiddenValue('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    faults.push(invalidValue('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  if (query.has('stream')) faults.push(forbiddenValue('stream', 'may not be specified'));
  if (faults.length > 0) throw invalid({ kind: 'PodLogOptions', group: '' }, podName, faults);
  return {
    container: query.get('container') ?? '',
    previous: booleanParameter(query, 'previous'),
    timestamps: booleanParameter(query, 'timestamps'),
    sinceMs: sinceSeconds === undefined ? sinceTimeMs : nowMs - sinceSeconds * 1000,
    tailLines,
    limitBytes,
  };
}

function parseTime(value: string | null): number | undefined {
  if (value === null || value === '' || value === 'null') return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value);
  const atMs = isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(atMs)) throw badRequest(`parsing time ${quote(value)} as "2006-01-02T15:04:05Z07:00": cannot parse`);
  return atMs;
}

const flag = { type: 'boolean' };
const streams = { stdin: flag, stdout: flag, stderr: flag, tty: flag, container: { type: 'string' } };
const texts = { type: 'array', items: { type: 'string' } };
const numbers = { type: 'array', items: { type: 'integer', format: 'int32' } };

type StreamPart = { readonly kind: string; readonly fields: JsonObject };

/** The subresources that are a connection to a container, and what they take. */
const parts: Readonly<Record<string, StreamPart>> = {
  exec: { kind: 'PodExecOptions', fields: { ...streams, command: texts } },
  attach: { kind: 'PodAttachOptions', fields: streams },
  portforward: { kind: 'PodPortForwardOptions', fields: { ports: numbers } },
};

/** As an object of the API: what was not said is left out. */
export function readStreamOptions(subresource: string, query: URLSearchParams): JsonObject {
  const options: JsonObject = { kind: parts[subresource]!.kind, apiVersion: 'v1' };
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').flatMap(portOf);
    return { ...options, ...(ports.length > 0 && { ports }) };
  }
  const [container, command] = [query.get('container'), query.getAll('command')];
  return {
    ...options,
    ...(booleanParameter(query, 'stdin') && { stdin: true }),
    // Defaults, and like all of the options of connections they do not ask what was said.
    stdout: true,
    stderr: true,
    ...(booleanParameter(query, 'tty') && { tty: true }),
    ...(container && { container }),
    ...(subresource === 'exec' && command.length > 0 && { command }),
  };
}

function portOf(text: string): number[] {
  const port = parseInteger(text);
  if (port !== undefined && (port < -(2 ** 31) || port >= 2 ** 31))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  return port === undefined ? [] : [port];
}

const types = new Map<string, BodyType>();

/** What admission may make of them. */
export function streamOptionsType(subresource: string): BodyType {
  const { kind, fields } = parts[subresource]!;
  return typeOf(kind, fields);
}

/** Of the `proxy` of Pods, Services and Nodes. */
export function proxyOptionsType(kind: string): BodyType {
  return typeOf(`${kind}ProxyOptions`, { path: { type: 'string' } });
}

function typeOf(kind: string, fields: JsonObject): BodyType {
  let type = types.get(kind);
  if (!type) {
    const properties = { kind: { type: 'string' }, apiVersion: { type: 'string' }, ...fields };
    type = { kind, groupVersion: 'v1', schema: schemaFromOpenApi({ type: 'object', properties }), isCustom: false };
    types.set(kind, type);
  }
  return type;
}
