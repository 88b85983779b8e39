import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import type { StrategyContext } from '../../strategy/strategy.ts';
import { admitted, type TestWrite } from '../admission.testing.ts';
import { detailsOf, findingsOf } from './evaluate.ts';
import { warningsAboutPods } from './existing-pods.ts';
import { podSecurity } from './pod-security.ts';
import { type Level, policyOf, type Version } from './policy.ts';

const good = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
const box = (more: JsonObject = {}, name = 'c') => ({ name, image: 'x:1', securityContext: good, ...more });
const secured = (context: JsonObject) => ({ containers: [box({ securityContext: { ...good, ...context } })] });

function judge(level: Level, version: Version, spec: JsonObject, annotations: Record<string, string> = {}): string {
  return detailsOf(findingsOf({ level, version }, { annotations, spec: { containers: [box()], ...spec } }));
}

describe('the level baseline', () => {
  it.each<[spec: JsonObject, want: string]>([
    [{}, ''],
    [
      { hostNetwork: true, hostPID: true, hostIPC: true },
      'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
    ],
    [secured({ privileged: true }), 'privileged (container "c" must not set securityContext.privileged=true)'],
    [
      {
        ...secured({ capabilities: { add: ['NET_ADMIN', 'CHOWN'] } }),
        initContainers: [box({ securityContext: { capabilities: { add: ['BPF'] } } }, 'i')],
      },
      'non-default capabilities (containers "i", "c" must not include "BPF", "NET_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      {
        volumes: [
          { name: 'v', hostPath: {} },
          { name: 'w', hostPath: {} },
        ],
      },
      'hostPath volumes (volumes "v", "w")',
    ],
    [
      { containers: [box({ ports: [{ hostPort: 80 }, { hostPort: 8080 }, { containerPort: 1 }] })] },
      'hostPort (container "c" uses hostPorts 80, 8080)',
    ],
    [
      {
        ...secured({ appArmorProfile: { type: 'Unconfined' } }),
        securityContext: { appArmorProfile: { type: 'Odd' } },
      },
      'forbidden AppArmor profiles (pod and container "c" must not set AppArmor profile type to "Odd", "Unconfined")',
    ],
    [
      secured({ seLinuxOptions: { type: 'spc_t', user: 'u', role: 'r' } }),
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [secured({ seLinuxOptions: { type: 'container_engine_t' } }), ''],
    [
      secured({ procMount: 'Unmasked' }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [{ ...secured({ procMount: 'Unmasked' }), hostUsers: false }, ''],
    [
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      { securityContext: { sysctls: [{ name: 'kernel.msgmax' }, { name: 'net.ipv4.tcp_rmem' }] } },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      {
        containers: [
          box({ lifecycle: { preStop: { tcpSocket: { host: 'b' } } }, startupProbe: { httpGet: { host: 'a' } } }),
        ],
      },
      'probe or lifecycle host (container "c" uses probe or lifecycle hosts "a", "b")',
    ],
    [
      { securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ])('finds in %j: %s', (spec, want) => {
    expect(judge('baseline', 'latest', spec)).toBe(want);
  });

  it('reads the annotations that were there before fields', () => {
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' };
    expect(judge('baseline', 'latest', {}, annotations)).toBe(
      'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
    );
    const old = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' };
    expect(judge('baseline', 18, {}, old)).toBe(
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    );
    expect(judge('baseline', 19, {}, old)).toBe('');
  });

  it.each<[version: Version, name: string, isAllowed: boolean]>([
    [26, 'net.ipv4.ip_local_reserved_ports', false],
    [27, 'net.ipv4.ip_local_reserved_ports', true],
    [28, 'net.ipv4.tcp_keepalive_time', false],
    [29, 'net.ipv4.tcp_keepalive_time', true],
    [31, 'net.ipv4.tcp_wmem', false],
    [32, 'net.ipv4.tcp_wmem', true],
    [99, 'net.ipv4.tcp_wmem', true],
  ])('of version %s lets the sysctl %s pass: %s', (version, name, isAllowed) => {
    expect(judge('baseline', version, { securityContext: { sysctls: [{ name }] } }) === '').toBe(isAllowed);
  });
});

describe('the level restricted', () => {
  const bare = { containers: [{ name: 'c' }] };
  const everything =
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';

  it.each<[version: Version, spec: JsonObject, want: string]>([
    ['latest', {}, ''],
    ['latest', bare, everything],
    [
      36,
      { ...bare, os: { name: 'windows' } },
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ],
    [24, { ...bare, os: { name: 'windows' } }, everything],
    [0, bare, 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)'],
    [
      'latest',
      {
        volumes: [
          { name: 'v', hostPath: {} },
          { name: 'w', nfs: {} },
          { name: 'e', emptyDir: {} },
        ],
      },
      'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    ],
    ['latest', { volumes: [{ name: 'v', image: {} }] }, ''],
    [
      'latest',
      { containers: [box({ securityContext: { ...good, capabilities: { add: ['SYS_ADMIN', 'NET_BIND_SERVICE'] } } })] },
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'latest',
      { ...secured({ runAsNonRoot: false }), securityContext: { runAsNonRoot: false } },
      'runAsNonRoot != true (pod and container "c" must not set securityContext.runAsNonRoot=false)',
    ],
    ['latest', secured({ runAsUser: 0 }), 'runAsUser=0 (container "c" must not set runAsUser=0)'],
    [22, secured({ runAsUser: 0 }), ''],
    ['latest', { ...secured({ runAsUser: 0, runAsNonRoot: false }), hostUsers: false }, ''],
    [34, { ...secured({ runAsUser: 0 }), hostUsers: false }, 'runAsUser=0 (container "c" must not set runAsUser=0)'],
    [
      'latest',
      { ...secured({ procMount: 'Unmasked' }), hostUsers: false },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'latest',
      secured({ seccompProfile: { type: 'Unconfined' } }),
      'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
  ])('of version %s finds in %j: %s', (version, spec, want) => {
    expect(judge('restricted', version, spec)).toBe(want);
  });
});

describe('the labels of a namespace', () => {
  const read = (labels: Record<string, string>) =>
    policyOf({
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: {
        labels: Object.fromEntries(
          Object.entries(labels).map(([name, value]) => [`pod-security.kubernetes.io/${name}`, value]),
        ),
      },
    });
  const [latest, privileged] = ['latest', 'privileged'];

  it.each([
    [{}, [privileged, latest], [privileged, latest], [privileged, latest]],
    [{ enforce: 'baseline' }, ['baseline', latest], [privileged, latest], ['baseline', latest]],
    [{ enforce: 'baseline', 'enforce-version': 'v1.20' }, ['baseline', 20], [privileged, latest], ['baseline', 20]],
    [{ enforce: 'baseline', warn: 'privileged' }, ['baseline', latest], [privileged, latest], [privileged, latest]],
    [
      { enforce: 'restricted', 'enforce-version': 'v1.2', 'warn-version': 'v1.3', audit: 'baseline' },
      ['restricted', 2],
      ['baseline', latest],
      ['restricted', 3],
    ],
    [{ enforce: 'odd', audit: 'odd', warn: 'odd' }, ['restricted', latest], [privileged, latest], [privileged, latest]],
  ])('%j', (labels, enforce, audit, warn) => {
    const { policy } = read(labels as Record<string, string>);
    const pair = ({ level, version }: { level: Level; version: Version }) => [level, version];
    expect([pair(policy.enforce), pair(policy.audit), pair(policy.warn)]).toEqual([enforce, audit, warn]);
  });

  it.each(['1.20', 'v1.', 'v1.01', 'v2.0', 'Latest', ''])('are refused with the version "%s"', (version) => {
    expect(read({ 'warn-version': version }).errors).toHaveLength(1);
  });
});

describe('PodSecurity', () => {
  const namespace = (labels: Record<string, string>, name = 'ns') => ({
    metadata: {
      name,
      labels: Object.fromEntries(
        Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
      ),
    },
  });
  const write = (labels: Record<string, string>, what: TestWrite) =>
    admitted(podSecurity(), { ...what, others: { ...what.others, '/namespaces': [namespace(labels)] } });
  const pod = (spec: JsonObject = {}) => ({ spec: { containers: [box()], ...spec } });
  const shared = pod({ hostPID: true });
  const wrong = 'host namespaces (hostPID=true)';

  it('refuses a Pod that violates what is enforced', async () => {
    await write({ enforce: 'baseline' }, { resource: 'pods', object: pod() });
    await expect(write({ enforce: 'baseline' }, { resource: 'pods', object: shared })).rejects.toMatchObject({
      code: 403,
      message: `pods "a" is forbidden: violates PodSecurity "baseline:latest": ${wrong}`,
    });
  });

  it('warns and tells the audit log of one that violates what is not', async () => {
    const labels = { warn: 'baseline', audit: 'restricted', 'audit-version': 'v1.99' };
    const { warnings, annotations } = await write(labels, { resource: 'pods', object: shared });
    expect(warnings).toEqual([`would violate PodSecurity "baseline:latest": ${wrong}`]);
    expect(annotations).toEqual({
      'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
      'pod-security.kubernetes.io/audit-violations': `would violate PodSecurity "restricted:v1.99": ${wrong}`,
    });
  });

  it.each([
    ['deployments.apps', { spec: { template: shared } }],
    ['cronjobs.batch', { spec: { jobTemplate: { spec: { template: shared } } } }],
    ['podtemplates', { template: shared }],
  ])('only warns of the template of %s', async (resource, object) => {
    const { warnings } = await write({ enforce: 'baseline' }, { resource, object });
    expect(warnings).toEqual([`would violate PodSecurity "baseline:latest": ${wrong}`]);
    expect((await write({ enforce: 'baseline', warn: 'privileged' }, { resource, object })).warnings).toEqual([]);
  });

  it('looks at an update that changes what runs', async () => {
    const change = (object: JsonObject, subresource = '') =>
      write({ enforce: 'baseline' }, { resource: 'pods', operation: 'UPDATE', subresource, old: shared, object });
    await change({ ...shared, metadata: { name: 'a', labels: { x: 'y' } } });
    await expect(change(pod({ hostPID: true, containers: [box({ image: 'x:2' })] }))).rejects.toThrow(wrong);
    const ephemeralContainers = [{ name: 'debug', image: 'x' }];
    await expect(change(pod({ hostPID: true, ephemeralContainers }), 'ephemeralcontainers')).rejects.toThrow(wrong);
    await write(
      { enforce: 'baseline' },
      { resource: 'pods', operation: 'UPDATE', subresource: 'status', old: {}, object: shared },
    );
  });

  const relabel = (old: Record<string, string>, labels: Record<string, string>, pods: readonly JsonObject[] = []) =>
    admitted(podSecurity(), {
      resource: 'namespaces',
      operation: 'UPDATE',
      old: namespace(old),
      object: namespace(labels),
      others: { '/pods': pods },
    });

  it('refuses labels nobody can read, unless they were there before', async () => {
    await expect(relabel({}, { enforce: 'strict' })).rejects.toMatchObject({ code: 422 });
    await relabel({ enforce: 'strict' }, { enforce: 'strict' });
    await expect(relabel({ enforce: 'strict' }, { enforce: 'strict', audit: 'odd' })).rejects.toMatchObject({
      code: 422,
    });
    const created = { resource: 'namespaces', object: namespace({ 'audit-version': 'x' }) };
    await expect(admitted(podSecurity(), created)).rejects.toThrow('must be "latest" or "v1.x"');
  });

  it('says which Pods a stricter level would not have let in', async () => {
    const named = (name: string, spec: JsonObject) => ({ ...pod(spec), metadata: { name, namespace: 'ns' } });
    const pods = [named('c', {}), named('b', { hostPID: true }), named('a', { hostPID: true })];
    expect((await relabel({}, { enforce: 'baseline' }, pods)).warnings).toEqual([
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 1 other pod): host namespaces',
    ]);
    expect((await relabel({ enforce: 'restricted' }, { enforce: 'baseline' }, pods)).warnings).toEqual([]);
    expect((await relabel({ enforce: 'baseline' }, { enforce: 'baseline' }, pods)).warnings).toEqual([]);
    expect((await relabel({ enforce: 'baseline' }, {}, pods)).warnings).toEqual([]);
  });

  it('stops after so many Pods, or so much time, and says so', async () => {
    const objects = ['a', 'b', 'c'].map((name) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { name }, ...pod() }));
    const context = { walk: async () => ({ total: 3, objects }) } as unknown as StrategyContext;
    const write = { context, name: 'ns', signal: new AbortController().signal };
    const enforce = { level: 'baseline', version: 'latest' } as const;
    const text = (checked: number) =>
      `new PodSecurity enforce level only checked against the first ${checked} of 3 existing pods`;
    expect(await warningsAboutPods(write, enforce, { pods: 2, ms: 60_000 })).toEqual([text(2)]);
    expect(await warningsAboutPods(write, enforce, { pods: 9, ms: -1 })).toEqual([text(0)]);
    expect(await warningsAboutPods(write, enforce, { pods: 3, ms: 60_000 })).toEqual([]);
  });
});
