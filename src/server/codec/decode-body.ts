/**
 * The one door for request bodies: bytes and a content type in, an object of the asked type out.
 *
 * What comes out has passed `checkObject`, and has the kind and the apiVersion of the type, whatever the body left out.
 * It fails with a StatusError: 415 for a media type nobody reads, 400 in kube-apiserver's words for everything
 * that cannot be decoded. Built-in types are read from JSON, YAML and protobuf, custom ones from JSON and YAML.
 */
import { invalidValue } from '../../api/errors/field-error.ts';
import { badRequest, invalid, type StatusError, unsupportedMediaType } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { cutText, jsonText } from '../../api/json-text.ts';
import { ProtobufError } from '../../api/protobuf.ts';
import type { Schema } from '../schema/schema.ts';
import { checkObject, jsonWord, TypeMismatchError } from './check-object.ts';
import { readClean } from './clean-object.ts';
import { applyFieldValidation, type FieldFaults, type FieldValidation } from './field-validation.ts';
import { type FaultPath, maxFaults, pathLimitBytes } from './json/fault-paths.ts';
import { isObject } from './json/json-objects.ts';
import { countJson, JsonSyntaxError, readJson } from './json/json-reader.ts';
import { readEnvelope, readKind } from './protobuf/protobuf-reader.ts';
import { internalType, registeredType } from './registered-kinds.ts';
import { readYamlBytes } from './yaml/yaml-aside.ts';
import { YamlSyntaxError } from './yaml/yaml-reader.ts';

/** What a body is to be: a resource, or one of the kinds that subresources and deletes take. */
export type BodyType = {
  /** `v1` or `group/version`. */
  readonly groupVersion: string;
  readonly kind: string;
  readonly schema: Schema;
  readonly isCustom: boolean;
  /** Versions under which the same kind may also be sent: DeleteOptions belong to every group. */
  readonly alsoVersions?: readonly string[];
};

export type BodyRequest = {
  /** The header as it came; absent or empty means JSON. */
  readonly contentType: string | undefined;
  readonly bytes: Uint8Array;
  readonly resource: BodyType;
  readonly fieldValidation?: FieldValidation;
  /** Told what is worth a `Warning` even if the body is refused. */
  readonly warn?: (text: string) => void;
};

export type DecodedBody = {
  readonly object: JsonObject;
  /** Texts for `Warning` headers. */
  readonly warnings: readonly string[];
};

const mediaTypes: { readonly json: string; readonly yaml: string; readonly protobuf: string } = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

/** Of a body that is told back. */
const shownBytes = 64 * 1024;

type Parsed = {
  readonly value: JsonObject;
  readonly duplicateFields: readonly FaultPath[];
  readonly otherFaults: readonly string[];
  /** How the body begins, for an error text. */
  readonly shown: () => string;
  /** A key that occurs twice was not looked for: so many members the text has, and this is how to look. */
  readonly uncounted?: { readonly members: number; readonly count: () => Parsed };
};

export function decodeBody(request: BodyRequest): DecodedBody {
  return parseBody(request)();
}

/** In two steps, for who lets others have a turn between them: a body is read now, and checked when that is called. */
export function parseBody(request: BodyRequest): () => DecodedBody {
  const { contentType, bytes, resource, fieldValidation = 'Warn', warn } = request;
  const { json, yaml, protobuf } = mediaTypes;
  const tell = fieldValidation === 'Warn' ? warn : undefined;
  const decode = (parsed: Parsed) => () => decodeText(parsed, resource, fieldValidation, tell);
  switch (mediaTypeOf(contentType)) {
    case json:
    case '':
      return decode(resource.isCustom ? parseJson(bytes, resource) : parseCounted(bytes, resource));
    case yaml:
      return decode(parseYaml(bytes, resource));
    case protobuf:
      if (!resource.isCustom) return () => ({ object: decodeProtobuf(bytes, resource), warnings: [] });
  }
  throw unsupportedMediaType(resource.isCustom ? [json, yaml] : [json, yaml, protobuf]);
}

/** `type/subtype` of a header, lower case, without parameters. */
export function mediaTypeOf(header: string | undefined): string {
  if (header === undefined || header === 'application/json') return header ?? '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** Checks an object that was put together here, e.g. by a patch; `refuse` says how its faults are told. */
export function checkDecoded(
  value: JsonObject,
  resource: BodyType,
  fieldValidation: FieldValidation,
  refuse: (why: string) => StatusError,
  given: Omit<FieldFaults, 'unknownFields'> = { duplicateFields: [] },
): DecodedBody {
  try {
    const { object, unknownFields } = checkObject(value, resource.schema, resource);
    const { warnings, strictError } = applyFieldValidation(fieldValidation, { unknownFields, ...given });
    if (strictError !== undefined) throw refuse(strictError);
    return { object, warnings };
  } catch (err) {
    throw err instanceof TypeMismatchError ? refuse(err.message) : err;
  }
}

function decodeText(
  parsed: Parsed,
  resource: BodyType,
  fieldValidation: FieldValidation,
  warn?: (text: string) => void,
): DecodedBody {
  const typed = withType(parsed.value, resource, parsed.shown, warn);
  const { uncounted } = parsed;
  if (uncounted) {
    // If it is not, its text is read again: nobody else has what was made of it.
    const clean = readClean(typed, resource.schema, true);
    const added = typed === parsed.value ? 0 : Object.keys(typed).length - Object.keys(parsed.value).length;
    if (clean?.members === uncounted.members + added) return { object: clean.object, warnings: [] };
    return decodeText(uncounted.count(), resource, fieldValidation, warn);
  }
  const refuse = (why: string) => cannotHandle(typed, resource, why);
  const { duplicateFields, otherFaults, value: document } = parsed;
  return checkDecoded(typed, resource, fieldValidation, refuse, { duplicateFields, otherFaults, document });
}

/** Most bodies are as they should be: whether a key came twice shows when the object is checked. */
function parseCounted(bytes: Uint8Array, resource: BodyType): Parsed {
  const counted = countJson(textOf(bytes), bytes);
  if (!counted || !isObject(counted.value)) return parseJson(bytes, resource);
  return {
    value: counted.value,
    duplicateFields: [],
    otherFaults: [],
    shown: () => beginning(bytes),
    uncounted: { members: counted.members, count: () => parseJson(bytes, resource) },
  };
}

function parseJson(bytes: Uint8Array, resource: BodyType): Parsed {
  try {
    const { value, duplicates } = readJson(textOf(bytes), bytes);
    return {
      value: objectOf(value, bytes, resource),
      duplicateFields: duplicates,
      otherFaults: [],
      shown: () => beginning(bytes),
    };
  } catch (err) {
    if (!(err instanceof JsonSyntaxError)) throw err;
    throw unrecognized(resource, `couldn't get version/kind; json parse error: ${err.message}`, beginning(bytes));
  }
}

function parseYaml(bytes: Uint8Array, resource: BodyType): Parsed {
  try {
    const { value, duplicates } = readYamlBytes(bytes);
    const faults = duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`];
    const object = objectOf(value, bytes, resource);
    const shown = () => beginning(Buffer.from(cutText(jsonText(object), shownBytes)));
    return { value: object, duplicateFields: [], otherFaults: faults, shown };
  } catch (err) {
    throw err instanceof YamlSyntaxError ? unrecognized(resource, err.message, beginning(bytes)) : err;
  }
}

function decodeProtobuf(bytes: Uint8Array, resource: BodyType): JsonObject {
  try {
    const envelope = readEnvelope(bytes);
    const { kind, groupVersion } = resource;
    const type = { kind: envelope.kind, apiVersion: envelope.apiVersion };
    const named = withType(type, resource, () => beginning(bytes));
    const object = readKind(envelope.raw, groupVersion, kind);
    if (!object) throw cannotHandle(named, resource, `no kind "${kind}" is registered for version "${groupVersion}"`);
    const { object: checked } = checkObject({ kind, apiVersion: groupVersion, ...object }, resource.schema);
    return checked;
  } catch (err) {
    if (err instanceof ProtobufError) throw unrecognized(resource, err.message, beginning(bytes));
    if (err instanceof TypeMismatchError) throw badRequest(err.message);
    throw err;
  }
}

/** The value with the type of the URL, or a refusal if it says it has another one. */
function withType(
  value: JsonObject,
  resource: BodyType,
  shown: () => string,
  warn?: (text: string) => void,
): JsonObject {
  const kind = typeWord(value, 'kind', resource, shown);
  const apiVersion = typeWord(value, 'apiVersion', resource, shown);
  if (apiVersion.split('/', 3).length > 2)
    throw unrecognized(resource, `unexpected GroupVersion string: ${cutText(apiVersion, pathLimitBytes)}`, shown());
  if (kind === resource.kind && apiVersion === resource.groupVersion) return value;
  if (resource.isCustom) checkCustomType(value, kind, apiVersion, resource, warn);
  const wanted = { kind: kind || resource.kind, apiVersion: apiVersion || resource.groupVersion };
  if (resource.alsoVersions?.includes(wanted.apiVersion)) wanted.apiVersion = resource.groupVersion;
  if (wanted.kind !== resource.kind || wanted.apiVersion !== resource.groupVersion) throw wrongType(wanted, resource);
  // Its own members first: one that begins with all of another has a shape of its own each time, on Node 20.
  const typed: JsonObject = { kind: '', apiVersion: '', ...value };
  return Object.assign(typed, wanted);
}

function typeWord(value: JsonObject, field: string, resource: BodyType, shown: () => string): string {
  const word = value[field];
  if (word === undefined || word === null) return '';
  if (typeof word === 'string') return word;
  throw unrecognized(
    resource,
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonWord(word)} into Go struct field .${field} of type string`,
    shown(),
  );
}

function checkCustomType(
  value: JsonObject,
  kind: string,
  apiVersion: string,
  resource: BodyType,
  warn: (text: string) => void = () => {},
): void {
  const { groupVersion } = resource;
  if (kind === '') {
    const text = cutText(jsonText(value), shownBytes);
    throw unrecognized(resource, `Object 'Kind' is missing in '${text}'`, beginning(Buffer.from(text)));
  }
  if (apiVersion !== groupVersion) {
    // Of a version that is not there no field is known.
    const unknown = Object.keys(value).filter((field) => !['apiVersion', 'kind', 'metadata'].includes(field));
    for (const field of unknown.sort().slice(0, maxFaults)) warn(`unknown field "${cutText(field, pathLimitBytes)}"`);
    throw wrongVersion(apiVersion, groupVersion);
  }
  if (kind !== resource.kind) throw otherCustomType(value, { kind, apiVersion }, resource);
}

/** A custom object may say that it is anything; that its definition says otherwise is told by validation. */
export function otherCustomType(
  value: JsonObject,
  found: { readonly kind: string; readonly apiVersion: string },
  wanted: Pick<BodyType, 'kind' | 'groupVersion'>,
): StatusError {
  const { kind, apiVersion } = found;
  const errors = [];
  if (kind !== wanted.kind) errors.push(invalidValue('kind', kind, `must be ${wanted.kind}`));
  if (apiVersion !== wanted.groupVersion)
    errors.push(invalidValue('apiVersion', apiVersion, `must be ${wanted.groupVersion}`));
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const metadata = isObject(value.metadata) ? value.metadata : {};
  return invalid({ kind, group }, typeof metadata.name === 'string' ? metadata.name : '', errors);
}

/** Versions that a built-in group may have had. */
const onceServed = /^v[12]((alpha|beta)[1-3])?$/;

function wrongType({ kind, apiVersion }: { kind: string; apiVersion: string }, resource: BodyType): StatusError {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  const isSameGroup = group !== '' && resource.groupVersion.startsWith(`${group}/`);
  if (isSameGroup && kind === resource.kind && onceServed.test(version ?? ''))
    return wrongVersion(apiVersion, resource.groupVersion);
  return cannotHandle({ kind, apiVersion: version ?? '' }, resource, typeFault({ kind, apiVersion }, resource).why);
}

/** Why what is of one built-in type cannot be taken for another: nobody knows it (`isKnown`), or it is something else. */
export function typeFault(
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  resource: Pick<BodyType, 'kind' | 'groupVersion'>,
): { readonly isKnown: boolean; readonly why: string } {
  const type = registeredType(apiVersion, kind, resource.groupVersion);
  if (!type) return { isKnown: false, why: `no kind "${kind}" is registered for version "${apiVersion}"` };
  const wanted = internalType(resource.groupVersion, resource.kind);
  return { isKnown: true, why: `converting (${type}) to (${wanted}): unknown conversion` };
}

function wrongVersion(found: string, expected: string): StatusError {
  return badRequest(`the API version in the data (${found}) does not match the expected API version (${expected})`);
}

function cannotHandle(given: JsonObject, { kind }: BodyType, why: string): StatusError {
  const apiVersion = String(given.apiVersion);
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return badRequest(`${given.kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
}

function unrecognized({ kind }: BodyType, why: string, shown?: string): StatusError {
  const tail = shown === undefined ? '' : ` (${shown})`;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why}${tail}`);
}

/** The body's one object; null stands for an empty one. A custom resource must be one. */
function objectOf(value: JsonValue, bytes: Uint8Array, resource: BodyType): JsonObject {
  if (isObject(value)) return value;
  if (value === null) return {};
  throw unrecognized(resource, noType(value), beginning(bytes));
}

/** Why what is no object is of no type. */
export function noType(value: JsonValue): string {
  const struct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  const why = `json: cannot unmarshal ${jsonWord(value)} into Go value of type ${struct}`;
  return `couldn't get version/kind; json parse error: ${why}`;
}

/** The first bytes of a body for an error text: as they are if it looks like an object, in hex otherwise. */
function beginning(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const limit = 30;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, limit));
  const more = bytes.length > limit ? ' ...' : '';
  return (bytes[0] === 0x7b ? buffer.toString('utf8') : buffer.toString('hex')) + more;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
