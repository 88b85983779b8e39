import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { apply, find } from '../rules-run.testing.ts';

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
  const { created, rules, context } = await apply(services, plain);
  const next: KubeObject = { ...created, spec: { selector, ports: [{ port: 81 }] } };
  rules.setDefaults?.(next);
  await rules.prepareUpdate?.(next, created, context);
  const { clusterIP, clusterIPs } = created.spec as JsonObject;
  expect(next.spec).toMatchObject({ clusterIP, clusterIPs, ports: [{ port: 81, targetPort: 81 }] });
  const headless: KubeObject = { ...created, spec: { ...(created.spec as JsonObject), clusterIP: 'None' } };
  await rules.prepareUpdate?.(headless, created, context);
  expect(rules.validateUpdate?.(headless, created).map(fieldErrorText)).toEqual([
    'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
  ]);
});

it('a service that no longer needs node ports gives them back', async () => {
  const { created, rules, context } = await apply(services, { spec: { ...plain.spec, type: 'NodePort' } });
  const next = structuredClone(created);
  (next.spec as JsonObject).type = 'ClusterIP';
  await rules.prepareUpdate?.(next, created, context);
  expect((next.spec as JsonObject).ports).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
  expect(rules.validate?.(next)).toEqual([]);
});
