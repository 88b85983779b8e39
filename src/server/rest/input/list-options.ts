/**
 * The options of LIST and WATCH, read from the query and checked as kube-apiserver does: what contradicts itself
 * is refused before anything is looked at.
 */
import {
  badRequest,
  type FieldError,
  FieldSelector,
  type FieldSupport,
  fieldErrorText,
  fieldLabelNotSupported,
  fieldLabelNotSupportedFor,
  forbiddenValue,
  invalid,
  invalidValue,
  notAKnownField,
  parseFieldSelector,
  parseLabelSelector,
  plainError,
  quote,
  unsupportedValue,
} from '../../../api/index.ts';
import { cutText } from '../../../api/json-text.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import { booleanParameter, integerParameter } from '../../request/query-parameters.ts';
import { Selection } from '../../storage/objects/selection.ts';

export type ListOptions = {
  readonly selection: Selection;
  /** `''`: the newest; `'0'`: any; else a number, perhaps with zeros in front. */
  readonly resourceVersion: string;
  readonly match: '' | 'Exact' | 'NotOlderThan';
  readonly limit: number;
  readonly continueToken: string;
};

export type WatchOptions = Omit<ListOptions, 'limit' | 'continueToken'> & {
  readonly sendInitialEvents: boolean | undefined;
  readonly allowsBookmarks: boolean;
  readonly timeoutSeconds: number;
};

export function listOptions(query: URLSearchParams, resource: Resource, namespace: string): ListOptions {
  const { selection, resourceVersion, match } = commonOptions(query, resource, namespace);
  const limit = Math.max(0, integerParameter(query, 'limit') ?? 0);
  integerParameter(query, 'timeoutSeconds');
  const continueToken = query.get('continue') ?? '';
  const faults: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '')
      faults.push(
        forbiddenValue('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      );
    if (continueToken !== '')
      faults.push(
        forbiddenValue('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
      );
    if (match !== 'Exact' && match !== 'NotOlderThan')
      faults.push(unsupportedValue('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && resourceVersion === '0')
      faults.push(
        forbiddenValue('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      );
  }
  if (query.has('sendInitialEvents'))
    faults.push(forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  refuse(faults);
  checkVersion(resourceVersion);
  return { selection, resourceVersion, match: match as ListOptions['match'], limit, continueToken };
}

export function watchOptions(query: URLSearchParams, resource: Resource, namespace: string, name = ''): WatchOptions {
  const common = commonOptions(query, resource, namespace, name);
  const sendInitialEvents = query.has('sendInitialEvents') ? booleanParameter(query, 'sendInitialEvents') : undefined;
  const { match, resourceVersion } = common;
  const faults: FieldError[] = [];
  const refuseMatch = (why: string) => faults.push(forbiddenValue('resourceVersionMatch', why));
  if (sendInitialEvents === undefined && match !== '')
    refuseMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    refuseMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (match !== '' && match !== 'NotOlderThan')
    faults.push(unsupportedValue('resourceVersionMatch', match, ['NotOlderThan']));
  const timeoutSeconds = integerParameter(query, 'timeoutSeconds') ?? 0;
  integerParameter(query, 'limit');
  refuse(faults);
  const why = versionFault(resourceVersion);
  if (why !== undefined) throw plainError(why);
  return {
    ...common,
    match: match as WatchOptions['match'],
    sendInitialEvents,
    allowsBookmarks: booleanParameter(query, 'allowWatchBookmarks'),
    timeoutSeconds,
  };
}

/** By what was asked for. Clients ask for the same again and again, and to read it takes longer than an index takes to find it. */
const known = new WeakMap<Resource, Map<string, Selection>>();
/** Of each resource; with more, all are forgotten and read anew. */
const MOST_KNOWN = 256;
const KNOWN_CHARACTERS = 512;

/** The selectors of a request for a collection. */
function selectionOf(query: URLSearchParams, resource: Resource, namespace: string, name = ''): Selection {
  const labels = query.get('labelSelector') ?? '';
  const asked = query.get('fieldSelector') ?? '';
  const fields = name === '' ? asked : [`metadata.name=${name}`, asked].filter(Boolean).join(',');
  const id = `${namespace}/${labels.length}/${labels}${fields}`;
  let ofResource = known.get(resource);
  const found = ofResource?.get(id);
  if (found) return found;
  const selection = readSelection(resource, namespace, labels, fields);
  if (id.length > KNOWN_CHARACTERS) return selection;
  if (!ofResource || ofResource.size === MOST_KNOWN) {
    ofResource = new Map();
    known.set(resource, ofResource);
  }
  ofResource.set(id, selection);
  return selection;
}

function readSelection(resource: Resource, namespace: string, labels: string, fields: string): Selection {
  return new Selection({
    namespace,
    labels: parseLabelSelector(labels),
    fields: asStored(parseFieldSelector(fields, fieldSupportOf(resource)), resource),
  });
}

/** Of a resource that is stored in the form of another: what its fields are called there. */
const storedNames: Readonly<Record<string, readonly (readonly [shown: RegExp, stored: string])[]>> = {
  'events.events.k8s.io': [
    [/^regarding\./, 'involvedObject.'],
    [/^reportingController$/, 'reportingComponent'],
  ],
};

function asStored(fields: FieldSelector, resource: Resource): FieldSelector {
  const names = storedNames[qualifiedName(resource)];
  if (!names) return fields;
  const nameOf = (field: string) => names.reduce((name, [shown, stored]) => name.replace(shown, stored), field);
  return new FieldSelector(fields.requirements.map((term) => ({ ...term, field: nameOf(term.field) })));
}

const mostVersion = 2n ** 64n - 1n;
const shownVersionBytes = 256;

/**
 * What is wrong with a version, in Go's words: what is there must be digits, as many zeros in front as one likes, and fit
 * 64 bits.
 */
export function versionFault(text: string): string | undefined {
  if (text === '') return undefined;
  const fault = (why: string) => `strconv.ParseUint: parsing ${quote(cutText(text, shownVersionBytes))}: ${why}`;
  if (!/^[0-9]+$/.test(text)) return fault('invalid syntax');
  const digits = text.replace(/^0+/, '');
  const isTooLarge = digits.length > 20 || (digits.length === 20 && BigInt(digits) > mostVersion);
  return isTooLarge ? fault('value out of range') : undefined;
}

/** No version, or one that stands for none: `0`, `00`. */
export function isAnyVersion(text: string): boolean {
  return Number(text) === 0;
}

function checkVersion(text: string): void {
  const why = versionFault(text);
  if (why === undefined) return;
  const fault = invalidValue('resourceVersion', text, why);
  throw badRequest(`invalid resource version: ${fieldErrorText(fault)}`);
}

function commonOptions(query: URLSearchParams, resource: Resource, namespace: string, name = '') {
  return {
    selection: selectionOf(query, resource, namespace, name),
    resourceVersion: query.get('resourceVersion') ?? '',
    match: query.get('resourceVersionMatch') ?? '',
  };
}

const supports = new WeakMap<Resource, FieldSupport>();

function fieldSupportOf(resource: Resource): FieldSupport {
  let support = supports.get(resource);
  if (!support) {
    const { fields, unknownField } = factsOf(resource);
    const refusal = {
      plain: fieldLabelNotSupported,
      kind: fieldLabelNotSupportedFor(resource.kind),
      known: notAKnownField,
    }[unknownField];
    support = { fields: [...fields.keys()], refusal };
    supports.set(resource, support);
  }
  return support;
}

function refuse(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid({ kind: 'ListOptions', group: 'meta.k8s.io' }, '', [...faults]);
}
