import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/index.ts';
import { type Change, created, faultsOf, updateFaultsOf } from './kind-tables.testing.ts';

const CSRS = 'certificatesigningrequests.certificates.k8s.io';
const BINDINGS = 'clusterrolebindings.rbac.authorization.k8s.io';
const ROLES = 'clusterroles.rbac.authorization.k8s.io';
const EVENTS = 'events.events.k8s.io';
const CLASSES = 'runtimeclasses.node.k8s.io';
const SERVICES = 'apiservices.apiregistration.k8s.io';

const pem = (type: string, body = 'AA==') =>
  Buffer.from(`-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`).toString('base64');
/** Signed with its own key, that nobody has any more. */
const SIGNED =
  'MIHLMHMCAQAwETEPMA0GA1UEAwwGd3JpdGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5n+IRglF1rmeBTO8kecPwX6ypBrL2krSlMzl5WKQL95DviwMs73HR8kbzAHYpRjwhpJ22vxaYlpxxGpPwMJtM6AAMAoGCCqGSM49BAMCA0gAMEUCIAhXw9RtKrdsdk1tIoXS9zvVg5x2zz1J2SS9M+omBnrGAiEAtV4egHenkdb07e4i6Q5nnIXfeAjmbiP3UwooT3DG+Vk=';
const { publicKey } = generateKeyPairSync('ed25519');

const good: Readonly<Record<string, JsonObject>> = {
  [CSRS]: {
    spec: { request: pem('CERTIFICATE REQUEST', SIGNED), signerName: 'example.com/s', usages: ['client auth'] },
  },
  [BINDINGS]: {
    roleRef: { kind: 'ClusterRole', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 'sa', namespace: 'n' }],
  },
  [ROLES]: { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } },
  [EVENTS]: {
    regarding: { namespace: 'other' },
    eventTime: '2024-01-01T00:00:00.000000Z',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
  },
  [CLASSES]: {
    handler: 'h',
    overhead: { podFixed: { cpu: '1' } },
    scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k', operator: 'Exists' }] },
  },
  [SERVICES]: {
    metadata: { name: 'v1.g.example.com' },
    spec: {
      group: 'g.example.com',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { namespace: 'n', name: 's' },
    },
  },
};

it('a request for a certificate that is both approved and denied is told of the verdict that came second', async () => {
  const verdict = (type: string) => ({ type, status: 'True' });
  const status = { conditions: [verdict('Denied'), verdict('Failed'), verdict('Approved')] };
  const text = 'Invalid value: "Approved": Approved and Denied conditions are mutually exclusive';
  expect(await updateFaultsOf(CSRS, good[CSRS]!, ['status', status])).toContain(`status.conditions[2].type: ${text}`);
});

it.each(Object.keys(good))('a good one of %s is accepted, also as an update', async (kind) => {
  expect(await faultsOf(kind, good[kind]!)).toEqual([]);
  expect(await updateFaultsOf(kind, good[kind]!)).toEqual([]);
});

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

it.each<[kind: string, path: string, value: Change[1], want: string[]]>([
  [
    CSRS,
    'spec.request',
    pem('PUBLIC KEY'),
    [`spec.request: Invalid value: "${pem('PUBLIC KEY')}": PEM block type must be CERTIFICATE REQUEST`],
  ],
  [
    CSRS,
    'spec.request',
    pem('CERTIFICATE REQUEST'),
    [`spec.request: Invalid value: "${pem('CERTIFICATE REQUEST')}": asn1: syntax error: truncated tag or length`],
  ],
  [CSRS, 'spec.usages', ['client auth', 'client auth'], ['spec.usages[1]: Duplicate value: "client auth"']],
  [
    CSRS,
    'spec.signerName',
    'plain',
    [
      'spec.signerName: Invalid value: "plain": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
  ],
  [CSRS, 'spec.signerName', 'A.com/s', [`spec.signerName: Invalid value: "A.com": validating label "A": ${labelText}`]],
  [
    CSRS,
    'spec.signerName',
    'A.B.com/s',
    [`spec.signerName: Invalid value: "A.B.com": validating label "A": ${labelText}`],
  ],
  [
    CSRS,
    'spec.expirationSeconds',
    599,
    ['spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)'],
  ],
  [BINDINGS, 'roleRef.name', 'a/b', ['roleRef.name: Invalid value: "a/b": may not contain \'/\'']],
  [BINDINGS, 'subjects.0.namespace', undefined, ['subjects[0].namespace: Required value']],
  [BINDINGS, 'subjects.0.apiGroup', 'x', ['subjects[0].apiGroup: Unsupported value: "x": supported values: ""']],
  [
    ROLES,
    'aggregationRule.clusterRoleSelectors',
    [],
    [
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ],
  ],
  [EVENTS, 'regarding', {}, ['involvedObject.namespace: Invalid value: "": does not match event.namespace']],
  [EVENTS, 'deprecatedCount', 1, ['count: Invalid value: "": needs to be unset']],
  [
    EVENTS,
    'series',
    { count: 1, lastObservedTime: '2024-01-01T00:00:00.000000Z' },
    ['series.count: Invalid value: "": should be at least 2'],
  ],
  [
    CLASSES,
    'overhead.podFixed',
    { added: '1' },
    [
      'overhead.limits[added]: Invalid value: "added": must be a standard resource type or fully qualified',
      'overhead.limits[added]: Invalid value: "added": must be a standard resource for containers',
    ],
  ],
  [
    CLASSES,
    'scheduling.tolerations',
    [{}],
    [
      'scheduling.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  ],
  [
    CLASSES,
    'scheduling.tolerations',
    [
      { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 },
      { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 2 },
      { key: 'k', operator: 'Exists' },
    ],
    [
      'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":2}',
    ],
  ],
  [
    CLASSES,
    'overhead.podFixed',
    { cpu: '1', 'hugepages-2Mi': '3Mi' },
    ['overhead.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi'],
  ],
  [SERVICES, 'spec.service', undefined, []],
  [
    SERVICES,
    'spec.service.port',
    0,
    ['spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive'],
  ],
])('%s with %s: %j is judged', async (kind, path, value, want) =>
  expect(await faultsOf(kind, good[kind]!, [path, value])).toEqual(want),
);

it.each<[kind: string, path: string, value: Change[1], want: string[]]>([
  [
    EVENTS,
    'reason',
    'x',
    ['reason: Invalid value: "x": field is immutable', 'reason: Invalid value: "x": field is immutable'],
  ],
  [EVENTS, 'note', 'x', ['message: Invalid value: "x": field is immutable']],
  [CLASSES, 'handler', 'other', ['handler: Invalid value: "other": field is immutable']],
  [
    CSRS,
    'status',
    { certificate: pem('PUBLIC KEY') },
    [
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "PUBLIC KEY"',
    ],
  ],
  [
    CSRS,
    'status',
    { certificate: Buffer.from(publicKey.export({ type: 'spki', format: 'der' })).toString('base64') },
    ['status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'],
  ],
  [
    SERVICES,
    'status',
    { conditions: [{ type: 'Available', status: 'True' }, { type: 'Odd' }, { type: 'Odder', status: 'Maybe' }] },
    [
      'status.conditions[1].status: Unsupported value: "": supported values: "True", "False", "Unknown"',
      'status.conditions[2].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    ],
  ],
])('an update of %s that sets %s to %j is judged', async (kind, path, value, want) =>
  expect(await updateFaultsOf(kind, good[kind]!, [path, value])).toEqual(want),
);

it('a lease forgets what nobody may say yet, and a priority class stays of its first generation', async () => {
  const lease = await created('leases.coordination.k8s.io', { spec: { holderIdentity: 'me', strategy: 's' } });
  expect(lease.created.spec).toEqual({ holderIdentity: 'me' });
  const { created: priority } = await created('priorityclasses.scheduling.k8s.io', { value: 1 });
  expect(priority).toMatchObject({ preemptionPolicy: 'PreemptLowerPriority', metadata: { generation: 1 } });
});

it('what is wrong with the conditions of a disruption budget is told first of its status', async () => {
  const status = { conditions: [{ type: 'A', status: 'True', reason: 'R' }], disruptionsAllowed: -1 };
  expect(await updateFaultsOf('poddisruptionbudgets.policy', { spec: {} }, ['status', status])).toEqual([
    'status.conditions[0].lastTransitionTime: Required value',
    'status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0',
  ]);
});

const reserved = "priority class names with 'system-' prefix are reserved for system use only. error: ";
it.each<[name: string, more: JsonObject, why: string | undefined]>([
  ['system-node-critical', { value: 2_000_001_000 }, undefined],
  ['system-node-critical', { value: 1 }, 'value of system-node-critical PriorityClass must be 2000001000'],
  [
    'system-node-critical',
    { value: 2_000_001_000, globalDefault: true },
    'globalDefault of system-node-critical PriorityClass must be false',
  ],
  ['system-mine', { value: 1 }, 'system-mine is not a known system priority class'],
])('the priority class %s of %j is judged by what it must be', async (name, more, why) => {
  const { errors } = await created('priorityclasses.scheduling.k8s.io', { metadata: { name }, ...more });
  expect(errors).toEqual(why ? [`metadata.name: Forbidden: ${reserved}${why}`] : []);
});
