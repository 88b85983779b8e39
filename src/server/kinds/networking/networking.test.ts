import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { apply, find, refusals, warningsOf } from '../strategy-run.testing.ts';

const ingresses = find('ingresses.networking.k8s.io');
const classes = find('ingressclasses.networking.k8s.io');
const policies = find('networkpolicies.networking.k8s.io');
const ranges = find('servicecidrs.networking.k8s.io');
const addresses = find('ipaddresses.networking.k8s.io');
const slices = find('endpointslices.discovery.k8s.io');
const endpoints = find('endpoints');

const service = { name: 's', port: { number: 80 } };
const ruleOf = (path: JsonObject, host = 'a.example.com') => ({ rules: [{ host, http: { paths: [path] } }] });
it.each<[claim: string, spec: JsonObject, want: string[]]>([
  ['nothing', {}, ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
  [
    'no backend',
    ruleOf({ path: '/', pathType: 'Exact' }),
    ['spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required'],
  ],
  [
    'a path that goes back',
    ruleOf({ path: '/a/..', pathType: 'Prefix', backend: { service } }),
    ['spec.rules[0].http.paths[0].path: Invalid value: "/a/..": cannot end with \'/..\''],
  ],
  [
    'an address for a host',
    ruleOf({ path: '/', pathType: 'Exact', backend: { service } }, '1.2.3.4'),
    ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
  ],
  [
    'a resource without a kind',
    { defaultBackend: { resource: { name: 'a/b' } } },
    [
      'spec.defaultBackend.resource.kind: Required value',
      'spec.defaultBackend.resource.name: Invalid value: "a/b": may not contain \'/\'',
    ],
  ],
])('an ingress with %s is refused', async (_claim, spec, want) => {
  expect((await apply(ingresses, { spec })).errors).toEqual(want);
});

it('the class in an annotation is told of, and must be the class in the spec', async () => {
  const metadata = { name: 'i', namespace: 'n', annotations: { 'kubernetes.io/ingress.class': 'x' } };
  const spec = { defaultBackend: { service } };
  const run = await apply(ingresses, { metadata, spec });
  expect([run.errors, warningsOf(run).length]).toEqual([[], 1]);
  expect((await apply(ingresses, { metadata, spec: { ...spec, ingressClassName: 'y' } })).errors).toEqual([
    'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both are specified',
  ]);
});

const parameters = { kind: 'K', name: 'n' };
it.each<[spec: JsonObject, want: string[]]>([
  [{}, ['spec.controller: Required value']],
  [
    { controller: 'plain' },
    ['spec.controller: Invalid value: "plain": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    { controller: 'a.b/c', parameters: { ...parameters, namespace: 'x' } },
    ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  ],
  [
    { controller: 'a.b/c', parameters: { ...parameters, scope: 'Namespace' } },
    ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
  ],
  [
    { controller: 'a.b/c', parameters: { ...parameters, scope: '' } },
    ['spec.parameters.scope: Unsupported value: "": supported values: "Cluster", "Namespace"'],
  ],
])('the class of ingresses %j is refused', async (spec, want) => {
  expect((await apply(classes, { spec })).errors).toEqual(want);
});

const from = (...peers: JsonObject[]) => ({ ingress: [{ from: peers }] });
const port = (one: JsonObject) => ({ ingress: [{ ports: [one] }] });
it.each<[claim: string, spec: JsonObject, want: string[]]>([
  ['nobody', from({}), ['spec.ingress[0].from[0]: Required value: must specify a peer']],
  [
    'a block of pods',
    from({ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }),
    ['spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer'],
  ],
  [
    'an exception outside',
    from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8', '11.0.0.0/24'] } }),
    [
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
      'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "11.0.0.0/24": must be a strict subset of `cidr`',
    ],
  ],
  [
    'an end before the beginning',
    port({ port: 80, endPort: 70 }),
    ['spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`'],
  ],
  [
    'an end without a beginning',
    port({ endPort: 70 }),
    ['spec.ingress[0].ports[0].endPort: Invalid value: 70: may not be specified when `port` is not specified'],
  ],
  [
    'an end of a name',
    port({ port: 'http', endPort: 70 }),
    ['spec.ingress[0].ports[0].endPort: Invalid value: 70: may not be specified when `port` is non-numeric'],
  ],
  [
    'three types',
    { policyTypes: ['Ingress', 'Egress', 'x'] },
    ['spec.policyTypes: Invalid value: ["Ingress","Egress","x"]: may not specify more than two policyTypes'],
  ],
])('a policy for %s is refused', async (_claim, spec, want) => {
  expect((await apply(policies, { spec })).errors).toEqual(want);
});

it('a range that was accepted once may stay in a policy', async () => {
  const run = await apply(policies, { spec: from({ ipBlock: { cidr: '10.0.0.5/8' } }) });
  expect(run.errors).toEqual([
    'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.5/8": must not have bits set beyond the prefix length',
  ]);
  expect(await refusals(run, run.created)).toEqual([]);
  expect(warningsOf(run)).toHaveLength(1);
});

it.each<[cidrs: string[], want: string[]]>([
  [[], ['spec.cidrs: Required value: at least one CIDR required']],
  [
    ['10.0.0.0/24', '10.1.0.0/24'],
    [
      'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  ],
  [
    ['10.0.0.0/24', 'x'],
    ['spec.cidrs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ],
  [['10.0.0.0/24', 'fd00::/64'], []],
])('the ranges %j', async (cidrs, want) => {
  expect((await apply(ranges, { spec: { cidrs } })).errors).toEqual(want);
});

it('a range may be joined by one of the other family, and is fixed otherwise', async () => {
  const run = await apply(ranges, { spec: { cidrs: ['10.0.0.0/24'] } });
  const change = (cidrs: string[]) => refusals(run, { ...run.created, spec: { cidrs } });
  expect(await change(['10.0.0.0/24', 'fd00::/64'])).toEqual([]);
  expect(await change(['10.1.0.0/24'])).toEqual(['spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable']);
  expect(await change([])).toEqual(['spec.cidrs: Invalid value: []: field is immutable']);
});

it('an address belongs to something', async () => {
  expect((await apply(addresses, { spec: {} })).errors).toEqual(['spec.parentRef: Required value']);
  expect((await apply(addresses, { spec: { parentRef: { name: '..' } } })).errors).toEqual([
    'spec.parentRef.resource: Required value',
    'spec.parentRef.name: Invalid value: "..": may not be \'..\'',
  ]);
});

it.each<[body: JsonObject, want: string[]]>([
  [
    { addressType: 'IPv4', endpoints: [{ addresses: ['fd00::1', '127.0.0.1'] }] },
    [
      'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be an IPv4 address',
      'endpoints[0].addresses[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  ],
  [
    { addressType: 'FQDN', endpoints: [{ addresses: ['host'] }] },
    [
      'endpoints[0].addresses[0]: Invalid value: "host": should be a domain with at least two segments separated by dots',
    ],
  ],
  [
    { addressType: 'IPv4', endpoints: [{ addresses: [], hints: { forNodes: [{ name: 'a' }, { name: 'a' }] } }] },
    [
      'endpoints[0].addresses: Required value: must contain at least 1 address',
      'endpoints[0].hints.forNodes[1].name: Duplicate value: "a"',
    ],
  ],
  [
    { addressType: 'IPv4', ports: [{ appProtocol: '' }, {}] },
    [
      'ports[0].appProtocol: Invalid value: "": name part must be non-empty',
      "ports[0].appProtocol: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'ports[1].name: Duplicate value: ""',
    ],
  ],
])('the slice %j is refused', async (body, want) => {
  expect((await apply(slices, body)).errors).toEqual(want);
});

it('endpoints say where, and call their ports by name if there are several', async () => {
  const { errors } = await apply(endpoints, {
    subsets: [{ ports: [{ port: 1 }, { port: 2, name: 'b' }] }, { addresses: [{ ip: 'x' }] }],
  });
  expect(errors).toEqual([
    'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
    'subsets[0].ports[0].name: Required value',
    'subsets[1].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'subsets[1].addresses[0].ip: Invalid value: "x": must be a valid IP address',
  ]);
});

it.each(['toString', 'constructor', '__proto__'])(
  'a type of address that is called %s is none',
  async (addressType) => {
    const run = await apply(slices, { addressType, endpoints: [{ addresses: ['1.2.3.4'] }] });
    expect(run.errors.join()).toContain('addressType: Unsupported value');
  },
);

it('a slice is another one with other labels, not with other annotations', async () => {
  const { created, strategy } = await apply(slices, { addressType: 'IPv4', endpoints: [] });
  const withMetadata = (metadata: object) => ({ ...created, metadata: { ...created.metadata, ...metadata } });
  expect(strategy.isRenewed?.(withMetadata({ labels: { a: 'b' } }), created)).toBe(true);
  expect(strategy.isRenewed?.(withMetadata({ labels: {} }), created)).toBe(false);
  expect(strategy.isRenewed?.(withMetadata({ annotations: { a: 'b' } }), created)).toBe(false);
});
