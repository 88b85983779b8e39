import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { checkObject } from '../../codec/index.ts';
import { updateFaultsOf } from '../kind-tables.testing.ts';
import { strategyOf } from '../strategy-of.ts';
import { apply, find, refusals } from '../strategy-run.testing.ts';

const claims = find('resourceclaims.resource.k8s.io');
const templates = find('resourceclaimtemplates.resource.k8s.io');
const slices = find('resourceslices.resource.k8s.io');
const classes = find('deviceclasses.resource.k8s.io');

const exactly = { deviceClassName: 'gpu.example.com' };
const devices = { requests: [{ name: 'gpu', exactly }] };
const claimOf = (more: JsonObject): JsonObject => ({ spec: { devices: { ...devices, ...more } } });

it('requests are for one device unless they say otherwise, and tolerations for equality', async () => {
  const request = { name: 'a', firstAvailable: [{ name: 'x', deviceClassName: 'c', tolerations: [{ key: 'k' }] }] };
  const { created, errors } = await apply(claims, claimOf({ requests: [request] }));
  expect(errors).toEqual([]);
  expect((created.spec as JsonObject).devices).toMatchObject({
    requests: [{ firstAvailable: [{ allocationMode: 'ExactCount', count: 1, tolerations: [{ operator: 'Equal' }] }] }],
  });
});

const ref = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
it.each<[claim: string, more: JsonObject, want: string[]]>([
  [
    'neither',
    { requests: [{ name: 'a' }] },
    ['spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required'],
  ],
  [
    'both',
    { requests: [{ name: 'a', exactly, firstAvailable: [{ name: 'x' }] }] },
    [
      'spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set',
    ],
  ],
  [
    'a name twice',
    { requests: [...devices.requests, ...devices.requests] },
    ['spec.devices.requests[1]: Duplicate value: "gpu"'],
  ],
  [
    'all of a count',
    { requests: [{ name: 'a', exactly: { ...exactly, allocationMode: 'All', count: 2 } }] },
    ["spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
  ],
  [
    'a toleration of a value that exists',
    { requests: [{ name: 'a', exactly: { ...exactly, tolerations: [{ operator: 'Exists', value: 'x' }] } }] },
    ['spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "x": must be empty for operator `Exists`'],
  ],
  [
    'a constraint on nothing',
    { constraints: [{ requests: ['other'] }] },
    [
      `spec.devices.constraints[0].requests[0]: Invalid value: "other": ${ref}`,
      'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    ],
  ],
  [
    'an attribute without a domain',
    { constraints: [{ matchAttribute: 'model' }] },
    [
      'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
    ],
  ],
  [
    'configuration that says nothing',
    { config: [{ opaque: {} }, {}] },
    [
      'spec.devices.config[0].opaque.driver: Required value',
      'spec.devices.config[0].opaque.parameters: Required value',
      'spec.devices.config[1].opaque: Required value',
    ],
  ],
  [
    'too many requests',
    { requests: Array.from({ length: 33 }, (_none, index) => ({ name: `r${index}`, exactly })) },
    ['spec.devices.requests: Too many: 33: must have at most 32 items'],
  ],
])('a claim with %s is refused', async (_claim, more, want) => {
  expect((await apply(claims, claimOf(more))).errors).toEqual(want);
});

it('what is asked for is fixed, what was got is given once', async () => {
  const run = await apply(claims, claimOf({}));
  expect(await refusals(run, { ...run.created, spec: { devices: { requests: [] } } })).toMatchObject([
    expect.stringMatching(/^spec: Invalid value: .*: field is immutable$/s),
  ]);
  const result = { request: 'gpu', driver: 'd', pool: 'p', device: 'dev' };
  const withStatus = (status: JsonObject) => refusals(run, { ...run.created, status }, 'status');
  const consumer = { resource: 'pods', name: 'p', uid: 'u' };
  expect(await withStatus({ allocation: { devices: { results: [result] } }, reservedFor: [consumer] })).toEqual([]);
  expect(await withStatus({ reservedFor: [consumer, consumer] })).toEqual([
    'status.reservedFor[1]: Duplicate value: "u"',
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  ]);
  expect(await withStatus({ allocation: { devices: { results: [{ ...result, request: 'x', pool: '' }] } } })).toEqual([
    `status.allocation.devices.results[0].request: Invalid value: "x": ${ref}`,
    'status.allocation.devices.results[0].pool: Required value',
  ]);
});

it('a template says labels and annotations of what is made from it, and nothing else', async () => {
  const metadata = { name: 'x', uid: 'u', labels: { 'a b': 'c' } };
  const { errors } = await apply(templates, { spec: { metadata, spec: { devices } } });
  expect(errors.map((error) => error.split(': ').slice(0, 2).join(': '))).toEqual([
    'spec.metadata.labels: Invalid value',
    'spec.metadata.name: Forbidden',
    'spec.metadata.uID: Forbidden',
  ]);
});

const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
const sliceOf = (device: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { driver: 'd.example.com', nodeName: 'n', pool, devices: [{ name: 'a', ...device }], ...more },
});
it.each<[claim: string, body: JsonObject, want: string[]]>([
  [
    'two ways to say which nodes',
    sliceOf({}, { allNodes: true }),
    [
      'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
    ],
  ],
  [
    'an attribute of two types',
    sliceOf({ attributes: { a: { int: 1, bool: false } } }),
    ['spec.devices[0].attributes[a]: Invalid value: {"int":1,"bool":false}: exactly one value must be specified'],
  ],
  [
    'a version that is none',
    sliceOf({ attributes: { a: { version: '1' } } }),
    [
      'spec.devices[0].attributes[a].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
    ],
  ],
  [
    'a policy for what is not shared',
    sliceOf({ capacity: { m: { value: '1', requestPolicy: {} } } }),
    ['spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true'],
  ],
  [
    'options out of order',
    sliceOf({
      allowMultipleAllocations: true,
      capacity: { m: { value: '4', requestPolicy: { default: '1', validValues: ['2', '1', '8'] } } },
    }),
    [
      'spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
      'spec.devices[0].capacity[m].requestPolicy.validValues[2]: Invalid value: "8": option is larger than capacity value: 4',
    ],
  ],
  [
    'a default outside of its range',
    sliceOf({
      allowMultipleAllocations: true,
      capacity: {
        a: { value: '8', requestPolicy: { default: '1', validRange: { min: '2' } } },
        b: { value: '8', requestPolicy: { default: '5', validRange: { min: '2', max: '4' } } },
      },
    }),
    [
      'spec.devices[0].capacity[a].requestPolicy.validRange.min: Invalid value: "1": default is less than min: 2',
      'spec.devices[0].capacity[b].requestPolicy.validRange.max: Invalid value: "5": default is more than max: 4',
    ],
  ],
  [
    'failures without conditions',
    sliceOf({ bindingFailureConditions: ['x'] }),
    [
      'spec.devices[0].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions',
    ],
  ],
  [
    'a taint without an effect',
    sliceOf({ taints: [{ key: 'k' }] }),
    ['spec.devices[0].taints[0].effect: Required value'],
  ],
  [
    'an empty pool',
    sliceOf({}, { pool: {} }),
    ['spec.pool.name: Required value', 'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero'],
  ],
])('a slice with %s is refused', async (_claim, body, want) => {
  expect((await apply(slices, body)).errors).toEqual(want);
});

it.each<[field: string, value: JsonObject[string], isRefused: boolean]>([
  ['name', '', false],
  ['uid', 'u', true],
  ['generation', 0, false],
  ['deletionGracePeriodSeconds', 0, true],
  ['finalizers', [], true],
  ['ownerReferences', [], true],
  ['managedFields', [], true],
])('a template of claims whose metadata have %s: %j is refused: %s', async (field, value, isRefused) => {
  const { object } = checkObject(
    { metadata: { name: 'a' }, spec: { metadata: { [field]: value }, spec: { devices } } },
    templates.schema,
  );
  const template = object as unknown as KubeObject;
  const { setDefaults, validate } = strategyOf(templates);
  setDefaults?.(template);
  const errors = (await validate!(template)).map(fieldErrorText);
  const name = field === 'uid' ? 'uID' : field;
  expect(errors).toEqual(isRefused ? [`spec.metadata.${name}: Forbidden: cannot be set`] : []);
});

it('a policy that says nothing is one that was not there before', async () => {
  const [before, after] = [{ value: '1' }, { value: '1', requestPolicy: {} }].map((m) => sliceOf({ capacity: { m } }));
  expect(await updateFaultsOf('resourceslices.resource.k8s.io', before!, ['spec', after!.spec])).toEqual([
    'spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true',
  ]);
});

it('lists as attributes are not served', async () => {
  const { created, errors } = await apply(slices, sliceOf({ attributes: { a: { int: 1, ints: [1] } } }));
  expect(errors).toEqual([]);
  expect((created.spec as JsonObject).devices).toEqual([{ name: 'a', attributes: { a: { int: 1 } } }]);
});

it.each([
  ['example.com/gpu', true],
  ['gpu', false],
  ['x.kubernetes.io/gpu', false],
  ['requests.example.com/gpu', false],
])('whether %s is a resource of its own: %s', async (extendedResourceName, isGood) => {
  const { errors } = await apply(classes, { spec: { extendedResourceName } });
  expect(errors.length === 0).toBe(isGood);
});
