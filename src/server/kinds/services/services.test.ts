import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { apply, find, refusals, warningsOf } from '../strategy-run.testing.ts';

const services = find('services');
const selector = { app: 'a' };
const plain = { spec: { selector, ports: [{ port: 80 }] } };
const common = {
  selector,
  ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
  type: 'ClusterIP',
  sessionAffinity: 'None',
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
  internalTrafficPolicy: 'Cluster',
};
const address = expect.stringMatching(/^10\.0\.0\.\d+$/) as string;

it.each<[claim: string, spec: JsonObject, want: JsonObject]>([
  ['an ordinary service', {}, { ...common, clusterIP: address, clusterIPs: [address] }],
  ['a headless one', { clusterIP: 'None' }, { ...common, clusterIP: 'None', clusterIPs: ['None'] }],
  [
    'one without a selector',
    { clusterIP: 'None', selector: {} },
    {
      ...common,
      selector: {},
      clusterIP: 'None',
      clusterIPs: ['None'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    },
  ],
  [
    'a name elsewhere',
    { type: 'ExternalName', externalName: 'example.com' },
    { selector, ports: common.ports, type: 'ExternalName', externalName: 'example.com', sessionAffinity: 'None' },
  ],
])('%s gets its defaults', async (_claim, spec, want) => {
  const { created, errors } = await apply(services, { spec: { ...plain.spec, ...spec } });
  expect(errors).toEqual([]);
  expect(created.spec).toEqual(want);
  expect(created.status).toEqual({ loadBalancer: {} });
});

it('node ports come from their range, and those of others are taken', async () => {
  const ports = [{ port: 80, nodePort: 30080 }];
  const first = await apply(services, { spec: { selector, ports, type: 'NodePort' } });
  const others = { '/services': [{ ...first.created, metadata: { name: 'other', namespace: 'ns' } }] };
  const again = apply(services, { spec: { selector, ports, type: 'NodePort' } }, others);
  await expect(again).rejects.toThrow(
    'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  );
  const { created } = await apply(services, { spec: { selector, ports: [{ port: 80 }], type: 'NodePort' } }, others);
  const [{ nodePort }] = (created.spec as unknown as { ports: [{ nodePort: number }] }).ports;
  expect(nodePort).toBeGreaterThanOrEqual(30000);
  expect(nodePort).toBeLessThanOrEqual(32767);
  expect(created.spec).toMatchObject({ externalTrafficPolicy: 'Cluster' });
});

it('every address is given once, and the range can be used up', async () => {
  const given: KubeObject[] = [];
  for (let i = 0; i < 253; i++) {
    const metadata = { name: `s${i}`, uid: `u${i % 7}` };
    given.push((await apply(services, { ...plain, metadata }, { '/services': given })).created);
  }
  const addresses = new Set(given.map((one) => (one.spec as JsonObject).clusterIP));
  expect(addresses.size).toBe(253);
  expect(addresses.has('10.0.0.1')).toBe(false);
  await expect(apply(services, plain, { '/services': given })).rejects.toThrow('range is full');
});

it.each<[spec: JsonObject, want: string[]]>([
  [{ ports: [] }, ['spec.ports: Required value']],
  [
    { ports: [{ port: 70000 }] },
    [
      'spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
  ],
  [
    { ports: [{ port: 80 }, { port: 81 }] },
    ['spec.ports[0].name: Required value', 'spec.ports[1].name: Required value'],
  ],
  [
    { ports: [{ port: 80 }], type: 'Magic' },
    [
      'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  ],
  [
    { ports: [{ port: 80, nodePort: 30000 }] },
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
])('a service with %j is refused', async (spec, want) => {
  const { errors } = await apply(services, { spec: { selector, ...spec } });
  expect(errors).toEqual(want);
});

it('an update keeps the address it does not name, and may not take another', async () => {
  const { created, strategy, context } = await apply(services, plain);
  const next: KubeObject = { ...created, spec: { selector, ports: [{ port: 81 }] } };
  strategy.setDefaults?.(next);
  await strategy.prepareUpdate?.(next, created, context);
  const { clusterIP, clusterIPs } = created.spec as JsonObject;
  expect(next.spec).toMatchObject({ clusterIP, clusterIPs, ports: [{ port: 81, targetPort: 81 }] });
  const headless: KubeObject = { ...created, spec: { ...(created.spec as JsonObject), clusterIP: 'None' } };
  await strategy.prepareUpdate?.(headless, created, context);
  expect(strategy.validateUpdate?.(headless, created).map(fieldErrorText)).toEqual([
    'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
  ]);
});

it('a service that no longer needs node ports gives them back', async () => {
  const { created, strategy, context } = await apply(services, { spec: { ...plain.spec, type: 'NodePort' } });
  const next = structuredClone(created);
  (next.spec as JsonObject).type = 'ClusterIP';
  await strategy.prepareUpdate?.(next, created, context);
  expect((next.spec as JsonObject).ports).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
  expect(strategy.validate?.(next)).toEqual([]);
});

const noneOf = "may only be used when `type` is 'LoadBalancer'";
it.each<[claim: string, spec: JsonObject, want: string[]]>([
  [
    'what only balancers have',
    { loadBalancerClass: 'a/b', loadBalancerSourceRanges: ['10.0.0.0/8'], allocateLoadBalancerNodePorts: false },
    [
      `spec.LoadBalancerSourceRanges: Forbidden: ${noneOf}`,
      `spec.allocateLoadBalancerNodePorts: Forbidden: ${noneOf}`,
      `spec.loadBalancerClass: Forbidden: ${noneOf}`,
    ],
  ],
  [
    'a policy for nobody outside',
    { externalTrafficPolicy: 'Local', healthCheckNodePort: 5 },
    [
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      "spec.healthCheckNodePort: Invalid value: 5: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
  ],
  [
    'addresses that lead nowhere',
    { externalIPs: ['127.0.0.1', 'x'] },
    [
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'spec.externalIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ],
  [
    'texts that are empty',
    { internalTrafficPolicy: '', trafficDistribution: '' },
    [
      'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
      'spec.trafficDistribution: Unsupported value: "": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  ],
  [
    'patience without end',
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } },
    [
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400',
    ],
  ],
  [
    'an external name of a family',
    { type: 'ExternalName', externalName: 'a.b', ipFamilyPolicy: 'SingleStack' },
    ['spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services'],
  ],
])('a service with %s is refused', async (_claim, spec, want) => {
  expect((await apply(services, { spec: { ...plain.spec, ...spec } })).errors).toEqual(want);
});

it.each<[spec: JsonObject, want: string]>([
  [{ clusterIPs: ['10.0.0.9'] }, 'must be empty when `clusterIP` is not specified'],
  [{ clusterIP: 'None', clusterIPs: ['10.0.0.9'] }, 'first value must match `clusterIP`'],
  [{ clusterIP: '10.0.0.09' }, 'must not have leading 0s'],
  [
    { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', '10.0.0.8'] },
    'may specify no more than one IP for each IP family',
  ],
  [{ clusterIP: '10.0.0.9', ipFamilies: ['IPv6'] }, 'expected an IPv6 value as indicated by `ipFamilies[0]`'],
  [{ ipFamilies: ['IPv6'] }, 'not configured on this cluster'],
  [{ ipFamilies: ['IPv4', 'IPv6'] }, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families"],
  [{ ipFamilyPolicy: 'RequireDualStack' }, 'this cluster is not configured for dual-stack services'],
])('addresses that do not agree, %j, are refused before anything is given', async (spec, want) => {
  await expect(apply(services, { spec: { ...plain.spec, ...spec } })).rejects.toThrow(want);
});

it('one port of two protocols has one node port, the one that was asked for', async () => {
  const ports = [
    { name: 'a', port: 53, protocol: 'UDP' },
    { name: 'b', port: 53, protocol: 'TCP', nodePort: 30053 },
  ];
  const { created, errors } = await apply(services, { spec: { selector, type: 'NodePort', ports } });
  expect(errors).toEqual([]);
  expect((created.spec as unknown as { ports: { nodePort: number }[] }).ports.map(({ nodePort }) => nodePort)).toEqual([
    30053, 30053,
  ]);
});

it('a port keeps its node port by its name', async () => {
  const run = await apply(services, {
    spec: { selector, type: 'NodePort', ports: [{ name: 'a', port: 80, nodePort: 30080 }] },
  });
  const next: KubeObject = { ...run.created, spec: { selector, type: 'NodePort', ports: [{ name: 'a', port: 81 }] } };
  run.strategy.setDefaults?.(next);
  await run.strategy.prepareUpdate?.(next, run.created, run.context);
  expect((next.spec as unknown as { ports: JsonObject[] }).ports[0]).toMatchObject({ port: 81, nodePort: 30080 });
});

it('a dry run answers with ports that can never be had, and asks of no range', async () => {
  const { strategy, context } = await apply(services, plain);
  const ports = [{ port: 1 }, { port: 2 }, { port: 3, nodePort: 1 }];
  const made: KubeObject = {
    ...structuredClone(plain),
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: 'b' },
    spec: { ...plain.spec, type: 'NodePort', ports },
  } as KubeObject;
  strategy.setDefaults?.(made);
  await strategy.prepareCreate?.(made, { ...context, isDryRun: true });
  expect((made.spec as unknown as { ports: JsonObject[] }).ports.map(({ nodePort }) => nodePort)).toEqual([
    32769, 32770, 1,
  ]);
});

it('the class of a balancer is chosen once', async () => {
  const run = await apply(services, { spec: { ...plain.spec, type: 'LoadBalancer', loadBalancerClass: 'a/b' } });
  const next = { ...run.created, spec: { ...(run.created.spec as JsonObject), loadBalancerClass: 'a/c' } };
  expect(await refusals(run, next)).toEqual(['spec.loadBalancerClass: Invalid value: "a/c": may not change once set']);
});

it('only balancers have an entrance, with a mode if it is an address', async () => {
  const run = await apply(services, { spec: { ...plain.spec, type: 'LoadBalancer' } });
  const status = (...ingress: JsonObject[]) =>
    refusals(run, { ...run.created, status: { loadBalancer: { ingress } } }, 'status');
  expect(await status({ ip: '1.2.3.4' }, { hostname: 'a.example.com' })).toEqual([]);
  expect(await status({ ip: '1.2.3.4', ipMode: 'Odd' }, { hostname: '1.2.3.4', ipMode: 'VIP' })).toEqual([
    'status.loadBalancer.ingress[0].ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"',
    'status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set',
    'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ]);
});

it('what is ignored or going away is told', async () => {
  const spec = {
    externalIPs: ['1.2.3.4'],
    externalName: 'x',
    trafficDistribution: 'PreferClose',
    loadBalancerIP: '010.0.0.1',
  };
  expect(warningsOf(await apply(services, { spec: { ...plain.spec, ...spec } }))).toEqual([
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    'spec.externalName is ignored when spec.type is not "ExternalName"',
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    'spec.loadBalancerIP: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
  ]);
});

it('also the port of kubelets may be shown to the world', async () => {
  const spec = { selector, ports: [{ port: 10250 }], type: 'LoadBalancer' };
  expect((await apply(services, { spec })).errors).toEqual([]);
});

const [ip4, ip6, other] = ['10.96.0.5', 'fd00::5', '10.96.0.6'];
const single = "must be set to 'SingleStack' when releasing the secondary";
it.each<[was: JsonObject, next: JsonObject, want: string[]]>([
  [
    { clusterIPs: [ip4, ip6], ipFamilies: ['IPv4', 'IPv6'] },
    { clusterIPs: [ip4], ipFamilies: ['IPv4'], ipFamilyPolicy: 'PreferDualStack' },
    [
      `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": ${single} clusterIP`,
      `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": ${single} ipFamily`,
    ],
  ],
  [
    { clusterIPs: [ip4, ip6], ipFamilies: ['IPv4', 'IPv6'] },
    { clusterIPs: [ip4], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    [],
  ],
  [{ clusterIPs: [ip4], ipFamilies: ['IPv4'] }, { clusterIPs: [ip4, ip6], ipFamilies: ['IPv4', 'IPv6'] }, []],
  [
    { clusterIPs: [ip4, ip6], ipFamilies: ['IPv4', 'IPv6'] },
    { clusterIPs: [ip4, other], ipFamilies: ['IPv4', 'IPv4'] },
    [
      `spec.clusterIPs[1]: Invalid value: ["${ip4}","${other}"]: may not change once set`,
      'spec.ipFamilies[0]: Invalid value: ["IPv4","IPv4"]: may not change once set',
    ],
  ],
  [
    { clusterIPs: ['None'], ipFamilies: ['IPv4'] },
    { clusterIPs: [ip6], ipFamilies: ['IPv6'] },
    [`spec.clusterIPs[0]: Invalid value: ["${ip6}"]: may not change once set`],
  ],
])('after addresses were %j, of %j it is said: %j', async (was, next, want) => {
  const { created, strategy } = await apply(services, plain);
  const object = (spec: JsonObject): KubeObject => ({ ...created, spec: { type: 'ClusterIP', ...spec } });
  expect(strategy.validateUpdate?.(object(next), object(was)).map(fieldErrorText)).toEqual(want);
});

it.each<[claim: string, next: JsonObject, looks: number]>([
  ['its labels', { metadata: { labels: { a: 'b' } } }, 0],
  [
    'the order of its ports',
    {
      spec: {
        ports: [
          { name: 'b', port: 81 },
          { name: 'a', port: 80 },
        ],
      },
    },
    0,
  ],
  [
    'one of its node ports',
    {
      spec: {
        ports: [
          { name: 'a', port: 80, nodePort: 30100 },
          { name: 'b', port: 81 },
        ],
      },
    },
    1,
  ],
  ['how many ports it has', { spec: { ports: ['a', 'b', 'c'].map((name, i) => ({ name, port: 80 + i })) } }, 1],
])('a service of which %s changes looks at others only for what it has not', async (_claim, next, looks) => {
  const ports = ['a', 'b'].map((name, i) => ({ name, port: 80 + i }));
  const spec = { selector, type: 'NodePort', ports };
  const { created, strategy, context } = await apply(services, { spec });
  let looked = 0;
  const listHeld = async () => {
    looked++;
    return [];
  };
  const changed = {
    ...structuredClone(created),
    ...next,
    metadata: { ...created.metadata, ...(next.metadata as object) },
    spec: { ...(structuredClone(created.spec) as JsonObject), ...(next.spec as JsonObject) },
  };
  strategy.setDefaults?.(changed);
  await strategy.prepareUpdate?.(changed, created, { ...context, listHeld });
  expect(looked).toBe(looks);
  expect(await strategy.validate?.(changed, created, context)).toEqual([]);
});
