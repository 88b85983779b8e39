/**
 * Makes docs/compatibility.md from the code: the resources that the registry has, the subresources somebody answers for,
 * the flags of the command. What is served in part is said here, and only of what is there.
 *
 * `node --import tsx test/docs/compatibility-page.ts --write` writes the page; the test beside it compares.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { addServeCommand } from '../../src/cli/commands/serve.ts';
import { DEFAULT_CONTROLLERS, KNOWN_CONTROLLERS } from '../../src/controllers/index.ts';
import { implementedPlugins } from '../../src/server/admission/make-chain.ts';
import { defaultPlugins, orderedPlugins } from '../../src/server/admission/plugin-names.ts';
import { builtInResources } from '../../src/server/registry/built-in-resources.ts';
import { qualifiedName, type Resource } from '../../src/server/registry/resource.ts';
import { isServedPart } from '../../src/server/rest/subresources.ts';

export const PAGE: string = fileURLToPath(new URL('../../docs/compatibility.md', import.meta.url));

const NO_CONTROLLER = 'stored and checked; no controller acts on it';
const WITH_ALL = 'a controller acts on it with `--controllers=*`';

/** What is missing, by resource; a resource that is not named is served whole. */
export const missing: Readonly<Record<string, string>> = {
  componentstatuses: 'always empty',
  nodes: 'no kubelet is asked; `--pretend-nodes` makes some that are only pretended',
  persistentvolumeclaims:
    'bound with `--controllers=*`; volumes are made for them with `--pretend-nodes`, and those are pretended',
  persistentvolumes: 'bound with `--controllers=*`, wherever their node affinity says they are; nothing is stored',
  pods: 'nothing schedules or runs them; with `--pretend-nodes` it is pretended',
  replicationcontrollers: WITH_ALL,
  services: 'addresses and node ports are given; EndpointSlices and Endpoints of their own with `--controllers=*`',
  'apiservices.apiregistration.k8s.io':
    'upgraded connections (exec) are not passed on; OpenAPI v2 of other servers is not merged',
  'controllerrevisions.apps': WITH_ALL,
  'cronjobs.batch': WITH_ALL,
  'daemonsets.apps': WITH_ALL,
  'deployments.apps': WITH_ALL,
  'horizontalpodautoscalers.autoscaling': NO_CONTROLLER,
  'jobs.batch': WITH_ALL,
  'poddisruptionbudgets.policy': 'evictions obey its status; pods are counted with `--controllers=*`',
  'replicasets.apps': WITH_ALL,
  'statefulsets.apps': WITH_ALL,
  'volumeattachments.storage.k8s.io': 'nothing attaches',
};

const NO_KUBELET = 'no kubelet is called: everything up to the node is answered, then a sentence that says why it ends';
const NO_CONNECTION =
  'nothing is connected to: everything up to that is answered, then a sentence that says why it ends';
/** The same of subresources, by `RESOURCE/NAME`. */
export const missingParts: Readonly<Record<string, string>> = {
  'nodes/proxy': NO_CONNECTION,
  'pods/attach': NO_KUBELET,
  'pods/exec': NO_KUBELET,
  'pods/log': 'no kubelet is called: empty without a node; on a pretended one a line that says that nothing runs there',
  'pods/portforward': NO_KUBELET,
  'pods/proxy': NO_CONNECTION,
  'services/proxy': NO_CONNECTION,
};

export function compatibilityPage(): string {
  const groups = new Map<string, Resource[]>();
  for (const resource of builtInResources())
    groups.set(resource.groupVersion, [...(groups.get(resource.groupVersion) ?? []), resource]);
  return `# Compatibility

What of the API of kube-apiserver 1.36 is served. Made from the code by \`node --import tsx test/docs/compatibility-page.ts
--write\`; a test holds it to that. Custom resources are served as definitions make them.

${[...groups].map(([groupVersion, resources]) => groupTable(groupVersion, resources)).join('\n')}
## Admission plugins

By kube-apiserver's names, in the order in which they run; \`--enable-admission-plugins\` and \`--disable-admission-plugins\`
change which do. ServiceAccount is on where the \`serviceaccount-controller\` runs beside the server, as it does by default; a
server without it has no accounts that Pods could run as, and there it is to be enabled.

| plugin | by default | |
| ------ | ---------- | - |
${orderedPlugins.map(pluginRow).join('\n')}

## Controllers

Of kube-controller-manager, by its names. Beside every server, unless \`--controllers\` says otherwise:

${DEFAULT_CONTROLLERS.map((name) => `- \`${name}\``).join('\n')}

With \`--controllers=*\` also:

${KNOWN_CONTROLLERS.filter((name) => !DEFAULT_CONTROLLERS.includes(name))
  .map((name) => `- \`${name}\``)
  .join('\n')}

The server itself does the work of \`clusterrole-aggregation-controller\`, cleans up after a deleted
CustomResourceDefinition, keeps its own Service and lets Events expire.

## Flags

Those of kube-apiserver and etcd that \`longwatch serve\` takes, and its own; any other is refused.

${flags()
  .map((flag) => `- \`${flag}\``)
  .join('\n')}
`;
}

function groupTable(groupVersion: string, resources: readonly Resource[]): string {
  const rows = resources.flatMap((resource) => [
    rowOf(resource),
    ...resource.subresources.map((part) => partRow(resource, part.name)),
  ]);
  return `## ${groupVersion}\n\n| resource | kind | |\n| -------- | ---- | - |\n${rows.join('\n')}\n`;
}

function rowOf(resource: Resource): string {
  const lack = missing[qualifiedName(resource)];
  return `| ${resource.plural} | ${resource.kind} | ${lack === undefined ? 'served' : `in part: ${lack}`} |`;
}

function pluginRow(name: string): string {
  const isOn = defaultPlugins.includes(name);
  const idle = isOn ? 'nothing to do: what it is about is not served' : 'not there: to enable it is refused';
  return `| ${name} | ${isOn ? 'on' : 'off'} | ${implementedPlugins().includes(name) ? 'acts' : idle} |`;
}

function partRow({ plural, subresources }: Resource, name: string): string {
  const { kind } = subresources.find((part) => part.name === name)!;
  const lack = missingParts[`${plural}/${name}`];
  const served = lack === undefined ? 'served' : `in part: ${lack}`;
  return `| ${plural}/${name} | ${kind} | ${isServedPart(name) ? served : 'not served: 404'} |`;
}

function flags(): string[] {
  const program = new Command();
  addServeCommand(program);
  return (program.commands[0]?.options ?? [])
    .map(({ long }) => long ?? '')
    .filter(Boolean)
    .sort();
}

if (process.argv.includes('--write')) writeFileSync(PAGE, compatibilityPage());
