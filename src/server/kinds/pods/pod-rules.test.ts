/**
 * The rules of pods as tables: one field of a good pod changed, and all that is refused then. Where a table here has no
 * row for a field, the field takes what its type takes.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';

const dns =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const container = (fields: JsonObject = {}): JsonObject => ({ name: 'c', image: 'x:1', ...fields });
const spec = (fields: JsonObject): JsonObject => ({ containers: [container()], ...fields });
const refusals = async (fields: JsonObject) => (await apply(find('pods'), { spec: spec(fields) })).errors;

type Rows = [fields: JsonObject, refused: string[]][];

describe('a volume', () => {
  const volume = (source: JsonObject): JsonObject => ({ volumes: [{ name: 'v', ...source }] });
  it.each<Rows[number]>([
    [
      { emptyDir: { sizeLimit: '-1' } },
      ['emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity'],
    ],
    [{ emptyDir: {}, cephfs: {} }, ['cephFS: Forbidden: may not specify more than 1 volume type']],
    [
      { secret: { secretName: 's' }, downwardAPI: {} },
      ['downwarAPI: Forbidden: may not specify more than 1 volume type'],
    ],
    [{ hostPath: { path: '/a/../b' } }, [`hostPath.path: Invalid value: "/a/../b": must not contain '..'`]],
    [{ nfs: { server: 's' } }, ['nfs.path: Required value', 'nfs.path: Invalid value: "": must be an absolute path']],
    [
      { gcePersistentDisk: { pdName: 'p', partition: 256 } },
      ['persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive'],
    ],
    [{ gcePersistentDisk: {} }, ['persistentDisk.pdName: Required value']],
    [
      { iscsi: { targetPortal: 'p', iqn: 'x', lun: 1 } },
      ['iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa'],
    ],
    [
      { iscsi: { targetPortal: 'p', iqn: 'iqn.2001-04.com.example:x', lun: 256 } },
      ['iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive'],
    ],
    [{ fc: {} }, ['fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both']],
    [{ fc: { targetWWNs: ['a'] } }, ['fc.lun: Required value: lun is required if targetWWNs is specified']],
    [
      { quobyte: { registry: 'a', volume: 'v' } },
      ['quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas'],
    ],
    [
      { flexVolume: { driver: 'd', options: { 'a.k8s.io/b': 'c' } } },
      ['flexVolume.options[a.k8s.io/b]: Invalid value: "a.k8s.io/b": kubernetes.io and k8s.io namespaces are reserved'],
    ],
    [{ csi: { driver: 'a_b' } }, [`csi.driver: Invalid value: "a_b": ${dns}`]],
    [{ csi: {} }, ['csi.driver: Required value']],
    [
      { configMap: { name: 'm', defaultMode: 512, items: [{ key: 'k', path: '../a' }] } },
      [
        'configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
        `configMap.items[0].path: Invalid value: "../a": must not contain '..'`,
      ],
    ],
    [
      { downwardAPI: { items: [{ path: 'p' }] } },
      ['downwardAPI: Required value: one of fieldRef and resourceFieldRef is required'],
    ],
    [
      { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'spec.nodeName' } }] } },
      [
        'downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      ],
    ],
    [
      {
        projected: {
          sources: [
            {
              secret: {
                name: 's',
                items: [
                  { key: 'a', path: 'p' },
                  { key: 'b', path: 'p' },
                ],
              },
            },
          ],
        },
      },
      ['projected: Invalid value: "s": conflicting duplicate paths'],
    ],
    [{ image: {} }, ['image.reference: Required value']],
    [{ ephemeral: {} }, ['ephemeral.volumeClaimTemplate: Required value']],
    [
      { ephemeral: { volumeClaimTemplate: { metadata: { name: 'n' }, spec: {} } } },
      [
        'ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set',
        'ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required',
        'ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value',
      ],
    ],
  ])('%j', async (source, refused) => {
    expect(await refusals(volume(source))).toEqual(refused.map((text) => `spec.volumes[0].${text}`));
  });
});

describe('a container', () => {
  it.each<Rows[number]>([
    [
      {
        ports: [
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 5 },
        ],
      },
      ['ports[1].hostPort: Duplicate value: "TCP//5"'],
    ],
    [
      { env: [{ name: 'a=b' }] },
      [
        `env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    [
      { env: [{ name: 'a', valueFrom: {} }] },
      [
        'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      { env: [{ name: 'a', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } }] },
      [
        expect.stringContaining(
          'env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist',
        ) as unknown as string,
      ],
    ],
    [
      { env: [{ name: 'a', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }] },
      [
        `env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
      ],
    ],
    [
      { env: [{ name: 'a', valueFrom: { fileKeyRef: { key: 'k', volumeName: 'v', path: '/..a/../b' } } }] },
      [`env[0].valueFrom.fileKeyRef.path: Invalid value: "/..a/../b": must not contain '..'`],
    ],
    [{ envFrom: [{ configMapRef: { name: 'm-' } }, { secretRef: { name: 's-' } }] }, []],
    [{ envFrom: [{ configMapRef: { name: '-' } }] }, [`envFrom[0].configMapRef.name: Invalid value: "-": ${dns}`]],
    [{ envFrom: [{}] }, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']],
    [
      { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: '/a' }] },
      ['volumeMounts.subPath: Invalid value: "/a": must be a relative path'],
    ],
    [
      { volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'Enabled' }] },
      ['volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true'],
    ],
    [
      { volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] },
      [
        'volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers',
      ],
    ],
    [
      { volumeDevices: [{ name: 'v', devicePath: '/d' }] },
      [
        'volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      ],
    ],
    [
      { resources: { limits: { 'example.com/a': '1500m' } } },
      [
        'resources.limits[example.com/a]: Invalid value: "1500m": must be an integer',
        'resources.requests[example.com/a]: Invalid value: "1500m": must be an integer',
      ],
    ],
    [
      { resources: { limits: { 'hugepages-2Mi': '1Mi' }, requests: { 'hugepages-2Mi': '1Mi' } } },
      [
        'resources.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
        'resources.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
        'resources: Forbidden: HugePages require cpu or memory',
      ],
    ],
    [
      { resources: { claims: [{ name: 'x' }] } },
      ['resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty'],
    ],
    [
      { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'Never' }] },
      ['resizePolicy: Unsupported value: "Never": supported values: "NotRequired", "RestartContainer"'],
    ],
    [
      { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      ['restartPolicy: Required value: must specify restartPolicy when restart rules are used'],
    ],
    [{ livenessProbe: { exec: {} } }, ['livenessProbe.exec.command: Required value']],
    [
      { livenessProbe: { tcpSocket: {}, grpc: { port: 1 } } },
      [
        'livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'livenessProbe.grpc: Forbidden: may not specify more than 1 handler type',
      ],
    ],
    [
      { readinessProbe: { grpc: { port: 1 }, terminationGracePeriodSeconds: 0 } },
      [
        'readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
        'readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must not be set for readinessProbes',
      ],
    ],
    [
      { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
      [
        'lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)',
      ],
    ],
    [
      { securityContext: { privileged: true } },
      ['securityContext.privileged: Forbidden: disallowed by cluster policy'],
    ],
    [
      { securityContext: { procMount: 'Unmasked' } },
      ['securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
    ],
    [
      { securityContext: { seccompProfile: { type: 'Localhost' } } },
      ['securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost'],
    ],
    [
      { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: ' p' } } },
      ['securityContext.appArmorProfile.localhostProfile: Invalid value: " p": must not be padded with whitespace'],
    ],
    [
      { securityContext: { windowsOptions: { runAsUserName: 'a\\b\\c' } } },
      [
        'securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
      ],
    ],
  ])('%j', async (fields, refused) => {
    const errors = await refusals({ containers: [container(fields)], volumes: [{ name: 'v', emptyDir: {} }] });
    expect(errors).toEqual(
      refused.map((text) => (typeof text === 'string' ? `spec.containers[0].${text}` : (text as unknown))),
    );
  });

  it('of the ones before has hooks and probes only if it is always restarted', async () => {
    const probed = container({ name: 'i', startupProbe: { exec: { command: ['x'] } } });
    expect(await refusals({ initContainers: [probed] })).toEqual([
      'spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
    ]);
    expect(await refusals({ initContainers: [{ ...probed, restartPolicy: 'Always' }] })).toEqual([]);
  });

  it('that is added looks at one that is there before', async () => {
    const added = (name: string, targetContainerName: string) => ({ ...container(), name, targetContainerName });
    const errors = await refusals({ ephemeralContainers: [added('d', 'c'), added('e', 'd')] });
    expect(errors.filter((text) => text.includes('target'))).toEqual([
      'spec.ephemeralContainers[1].targetContainerName: Not found: "d"',
    ]);
  });

  it('cannot be added to a pod before there is one', async () => {
    const added = container({ name: 'e', targetContainerName: 'none', lifecycle: {} });
    expect(await refusals({ ephemeralContainers: [added] })).toEqual([
      'spec.ephemeralContainers[0].targetContainerName: Not found: "none"',
      'spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ]);
  });
});

describe('the spec of a pod', () => {
  const unsatisfied = { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} };
  it.each<Rows[number]>([
    [{ dnsPolicy: 'None' }, ['dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
    [
      { dnsConfig: { nameservers: ['01.2.3.4'] } },
      ['dnsConfig.nameservers[0]: Invalid value: "01.2.3.4": must not have leading 0s'],
    ],
    [
      { hostAliases: [{ ip: 'x' }] },
      ['hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
    [
      { readinessGates: [{ conditionType: 'a/b/c' }] },
      [
        expect.stringContaining(
          'readinessGates[0].conditionType: Invalid value: "a/b/c": a valid label key',
        ) as unknown as string,
      ],
    ],
    [{ schedulingGates: [{ name: 'a' }, { name: 'a' }] }, ['schedulingGates[1]: Duplicate value: "a"']],
    [
      { topologySpreadConstraints: [unsatisfied, unsatisfied] },
      ['topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"'],
    ],
    [
      { topologySpreadConstraints: [{ ...unsatisfied, whenUnsatisfiable: 'ScheduleAnyway', minDomains: 1 }] },
      [
        'topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      ],
    ],
    [
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } },
      [
        'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
      ],
    ],
    [
      {
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 101, podAffinityTerm: { topologyKey: 'z', matchLabelKeys: ['a'] } },
            ],
          },
        },
      },
      [
        'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100',
        'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
      ],
    ],
    [{ hostUsers: false, hostPID: true }, ['HostPID: Forbidden: when `hostUsers` is false']],
    [
      { hostPID: true, shareProcessNamespace: true },
      [
        'securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
      ],
    ],
    [
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.x', value: '1' }] } },
      [`securityContext.sysctls[0].name: Invalid value: "net.ipv4.x": may not be specified when 'hostNetwork' is true`],
    ],
    [
      { securityContext: { runAsUser: -1, supplementalGroups: [-1] } },
      [
        'securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'securityContext.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive',
      ],
    ],
    [
      { os: { name: 'linux' }, securityContext: { windowsOptions: {} } },
      ['securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod'],
    ],
    [
      { os: { name: 'windows' }, securityContext: { runAsUser: 1 } },
      ['securityContext.runAsUser: Forbidden: cannot be set for a windows pod'],
    ],
    [{ os: { name: 'plan9' } }, ['os: Unsupported value: "plan9": supported values: "linux", "windows"']],
    [
      { hostnameOverride: 'a', setHostnameAsFQDN: true },
      ['hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true'],
    ],
    [
      { resourceClaims: [{ name: 'a' }] },
      [
        'resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ],
    ],
    [{ resources: { claims: [] } }, ['resources.claims: Forbidden: claims may not be set for Resources at pod-level']],
    [
      { nodeName: 'n', schedulingGates: [{ name: 'a' }] },
      ['nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
    [
      { tolerations: [{ key: 'a', operator: 'Gt' }] },
      ['tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
    ],
  ])('%j', async (fields, refused) => {
    const errors = await refusals(fields);
    expect(errors).toEqual(refused.map((text) => (typeof text === 'string' ? `spec.${text}` : (text as unknown))));
  });
});

describe('a pod', () => {
  it('is told of what it likely did not mean', async () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
    ];
    const fields = {
      containers: [container({ env, resources: { limits: { memory: '1500m' } } })],
      imagePullSecrets: [{ name: 's' }, { name: 's' }],
      volumes: [
        { name: 'g', gitRepo: { repository: 'r' } },
        { name: 'p', projected: { sources: [{}] } },
      ],
      nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
    };
    const { created, strategy, context } = await apply(find('pods'), { metadata: { name: 'a.b' }, spec: fields });
    expect(strategy.warnings?.(created, undefined, context)).toEqual([
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
      'volume "p" (Projected) has no sources provided',
      'spec.imagePullSecrets[1].name: duplicate name "s"',
      'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ]);
    expect(strategy.warnings?.(created, created, context)).toEqual([]);
  });

  it('forgets what is switched off, and rounds what is finer than thousandths', async () => {
    const fields = {
      schedulingGroup: { podGroupName: 'g' },
      containers: [container({ lifecycle: { stopSignal: 'SIGHUP' }, resources: { requests: { cpu: '100u' } } })],
    };
    const { created } = await apply(find('pods'), { spec: fields });
    expect(created.spec).not.toHaveProperty('schedulingGroup');
    expect((created.spec as { containers: JsonObject[] }).containers[0]).toMatchObject({
      resources: { requests: { cpu: '1m' } },
    });
    expect((created.spec as { containers: JsonObject[] }).containers[0]).not.toHaveProperty('lifecycle');
  });

  it('selects by the labels it shares', async () => {
    const fields = {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'z',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: {},
          matchLabelKeys: ['rev'],
        },
      ],
    };
    const { created, errors } = await apply(find('pods'), { metadata: { labels: { rev: '1' } }, spec: spec(fields) });
    expect(errors).toEqual([]);
    expect(created.spec).toMatchObject({
      topologySpreadConstraints: [
        { labelSelector: { matchExpressions: [{ key: 'rev', operator: 'In', values: ['1'] }] } },
      ],
    });
  });
});
