/**
 * Whether imports between the rooms of a layer point one way. A room is a folder; the order of rooms is declared here,
 * once, lowest first: a room may import what stands on the lines before its own, types included, and nothing else. Rooms
 * on one line do not know each other. `.` are the files that lie in the folder itself, unless a line names one of them.
 *
 * Every folder below src/ that holds rooms has an order, and every room has its place in one: what is missing
 * here, or is named and not there, is a fault too, and so is a picture in ARCHITECTURE.md that shows another order.
 * `generated` is below everything in its folder. The store itself is known to `storage/` and to whoever opens it. Tests may
 * import from anywhere.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { root, say } from './setup.mjs';

const order = {
  'src/api': [['.'], ['bytes', 'errors', 'observing', 'scalars'], ['selectors'], ['index.ts']],
  'src/schemas': [['patterns'], ['structural'], ['.']],
  'src/store': [['.'], ['etcd-snapshot'], ['embedded', 'etcd', 'shared'], ['etcd-front'], ['index.ts']],
  'src/store/embedded': [['engine', 'watch'], ['disk', 'state'], ['snapshot'], ['.']],
  'src/store/etcd': [['grpc', 'messages'], ['watch'], ['.']],
  'src/store/etcd-front': [['messages'], ['.'], ['services'], ['etcd-front.ts']],
  'src/client': [
    ['errors.ts', 'objects', 'slices.ts'],
    ['config', 'lazy', 'observing'],
    ['transport'],
    ['resources'],
    ['watch'],
    ['checkpoint', 'reflector'],
    ['informer'],
    ['kube-client.ts'],
    ['manifests', 'pods'],
    ['definitions'],
    ['index.ts', 'advanced.ts', 'apply.ts', 'crd.ts', 'pods.ts'],
  ],
  'src/client/pods': [['tar'], ['.']],
  'src/client/informer': [
    ['indexer.ts', 'informer-event.ts'],
    ['informer-store.ts'],
    ['handling'],
    ['.'],
    ['audit'],
    ['informer.ts'],
    ['informer-factory.ts'],
  ],
  'src/cli': [['terminal'], ['cluster'], ['commands'], ['verbs.ts'], ['main.ts']],
  'src/cli/commands': [
    ['.'],
    ['dashboard', 'doctor', 'envtest', 'generate', 'inside', 'kubeconfig', 'lab', 'proxy', 'snapshot', 'watch'],
    ['stress', 'top'],
  ],
  'src/cli/commands/lab': [['experiment.ts'], ['experiments', 'laboratory.ts'], ['lab-command.ts']],
  'src/controller': [
    ['conditions.ts', 'finalizers.ts', 'owner-references.ts'],
    ['election', 'events', 'queue', 'webhooks'],
    ['reconcile'],
    ['manager'],
    ['retry-on-conflict.ts', 'with-finalizer.ts'],
    ['index.ts', 'advanced.ts'],
  ],
  'src/controllers': [
    ['.'],
    ['pods'],
    ['certificates', 'garbage', 'namespaces', 'network', 'nodes', 'storage', 'workloads'],
    ['start-controllers.ts'],
    ['index.ts'],
  ],
  'src/controllers/workloads': [['.'], ['jobs']],
  'src/testing': [['.', 'clocks', 'faults'], ['server'], ['index.ts']],
  'src/page': [['data'], ['parts'], ['operator', 'views'], ['main.tsx']],
  'src/server': [
    ['schema', 'event-loop', 'serving', 'server-options.ts'],
    ['workers'],
    ['request'],
    ['cel', 'codec', 'health', 'metrics', 'open-store.ts'],
    ['managed-fields', 'outbound', 'patch', 'structural-schema'],
    ['registry'],
    ['auth', 'discovery', 'strategy', 'tables'],
    ['apiextensions', 'audit', 'openapi'],
    ['kinds'],
    ['storage'],
    ['rbac', 'tokens', 'encodings'],
    ['admission', 'access.ts'],
    ['rest'],
    ['flow-control'],
    ['bootstrap.ts'],
    ['aggregation', 'cluster', 'controllers', 'http', 'introspection', 'ui'],
    ['tls-options.ts', 'watch-cache-sizes.ts'],
    ['store-doors.ts'],
    ['start-server.ts'],
    ['index.ts', 'server-worker.ts'],
  ],
  'src/server/admission': [
    ['.'],
    ['expressions', 'plugins', 'pod-security', 'quota'],
    ['matching'],
    ['policies', 'webhooks'],
    ['make-chain.ts'],
  ],
  'src/server/admission/plugins': [['limit-ranger', 'pods', '.']],
  'src/server/admission/policies': [['.'], ['mutating', 'type-checking', 'validating'], ['admission-policies.ts']],
  'src/server/cel': [['values'], ['library', 'syntax'], ['compiler', 'cost'], ['.']],
  'src/server/codec': [['scalars'], ['json'], ['protobuf', 'yaml'], ['.']],
  'src/server/controllers': [['crd', '.']],
  'src/server/flow-control': [['fair-queuing'], ['configuration'], ['priority-level', 'upkeep'], ['.']],
  'src/server/http': [['response'], ['body', 'connection'], ['.']],
  'src/server/introspection': [['.'], ['history'], ['introspection.ts']],
  'src/server/kinds': [
    [
      ...['admissionregistration', 'apiregistration', 'autoscaling', 'certificates', 'coordination', 'core'],
      ...['flowcontrol', 'networking', 'node', 'policy', 'rbac', 'resources', 'scheduling', 'services', 'storage'],
    ],
    ['pods'],
    ['workloads'],
    ['.'],
  ],
  'src/server/kinds/pods': [['fields'], ['security', 'volumes'], ['containers'], ['.']],
  'src/server/rest': [
    ['input', 'output'],
    ['reading'],
    ['conflict-line.ts', 'unique-writes.ts', 'strategy-context.ts'],
    ['rest.ts'],
    ['writing'],
    ['connecting'],
    ['.'],
  ],
  'src/server/managed-fields': [['field-sets'], ['.']],
  'src/server/storage': [['objects'], ['.'], ['direct'], ['cacher'], ['feed', 'live'], ['resource-storages.ts']],
  'src/server/storage/cacher': [['state'], ['indexes'], ['.']],
  'src/server/strategy': [['validation'], ['.']],
  'src/server/structural-schema': [['cel']],
  'src/server/workers': [['seat-table.ts'], ['port'], ['.']],
};

/** Who may know the store itself: everybody else reads and writes objects through `storage/`. */
const storeUsers = [
  'storage/',
  'workers/',
  'server-worker.ts',
  'open-store.ts',
  'server-options.ts',
  'start-server.ts',
  'store-doors.ts',
  'health/store-checks.ts',
];
/** What of the store's layer has nothing to do with a store. */
const PRIVATE_FILES = 'src/store/private-files.ts';

/** What an import may not do, told with the file that does it. */
const faults = [];
const layers = roomsOf('src')
  .map((layer) => join('src', layer))
  .filter((layer) => foldersWithRooms(layer).length > 0);
const imports = layers.flatMap((layer) => sources(layer).flatMap(importsOf));
for (const folder of layers.flatMap(foldersWithRooms)) checkFolder(folder);
for (const folder of Object.keys(order))
  if (!layers.flatMap(foldersWithRooms).includes(folder)) faults.push(`${folder} has an order and no rooms`);
for (const layer of layers) checkPicture(layer);
checkStoreUsers();
if (faults.length > 0) {
  for (const fault of faults.sort()) console.error(fault);
  process.exit(1);
}
say(`${imports.length} imports keep the order of the rooms`);

function checkFolder(folder) {
  if (!order[folder]) {
    faults.push(`${folder} has rooms and no order: declare one in scripts/check-rooms.mjs`);
    return;
  }
  const heights = new Map(order[folder].flatMap((rooms, height) => rooms.map((room) => [room, height])));
  if (roomsOf(folder).includes('generated')) heights.set('generated', -1);
  const roomOf = (file) => {
    const [first, ...rest] = relative(folder, file).split('/');
    return rest.length > 0 || heights.has(first) ? first : '.';
  };
  for (const { file, target } of imports) {
    if (!file.startsWith(`${folder}/`)) continue;
    const from = roomOf(file);
    if (!target.startsWith(`${folder}/`)) continue;
    const to = roomOf(target);
    if (from === to || heights.get(to) < heights.get(from)) continue;
    if (heights.has(from) && heights.has(to))
      faults.push(`${file} imports ${target}: in ${folder}, ${shown(to)} is not below ${shown(from)}`);
  }
  const there = new Set([...roomsOf(folder), ...sources(folder).map(roomOf)]);
  for (const room of there) if (!heights.has(room)) faults.push(`${folder}: ${shown(room)} has no place in the order`);
  for (const room of heights.keys())
    if (!there.has(room)) faults.push(`${folder}: ${room} is in the order and not there`);
}

function checkStoreUsers() {
  for (const { file, target } of imports) {
    if (!file.startsWith('src/server/') || !target.startsWith('src/store/') || target === PRIVATE_FILES) continue;
    if (!storeUsers.some((user) => file.startsWith(`src/server/${user}`)))
      faults.push(`${file} imports ${target}: of the server only storage/ reads and writes the store`);
  }
}

/** ARCHITECTURE.md draws the same order, the highest line first; what a line says behind two blanks is its own. */
function checkPicture(layer) {
  if (!order[layer] || order[layer].length <= 3) return; // told already, or no need of one
  const [, text = ''] = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split(
    `## Rooms of the ${basename(layer)}\n`,
  );
  const drawn = order[layer].map((rooms) => rooms.join(' · ').replace(/^\.$/, '*.ts')).reverse();
  const lines = text.split('\n').map((line) => line.replace(/^ {4}/, '').split('  ')[0]);
  const from = lines.indexOf(drawn[0]);
  const isSame = from !== -1 && drawn.every((line, i) => lines[from + i] === line);
  if (!isSame) faults.push(`ARCHITECTURE.md does not show the order of ${layer}:\n    ${drawn.join('\n    ')}`);
}

function shown(room) {
  return room === '.' ? 'what lies in the folder itself' : room;
}

function roomsOf(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function foldersWithRooms(folder) {
  const rooms = roomsOf(folder);
  return rooms.every((room) => room === 'generated')
    ? []
    : [folder, ...rooms.flatMap((room) => foldersWithRooms(join(folder, room)))];
}

function sources(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|testing)\.ts$/.test(name))
    .map((name) => join(folder, name));
}

/** Everything that a file names by a relative path, for its values or for its types. */
function importsOf(file) {
  const { program, errors } = parseSync(file, readFileSync(join(root, file), 'utf8'));
  if (errors.length > 0) throw new Error(`Cannot read ${file}: ${errors[0].message}`);
  const found = [];
  const note = ({ source }) => {
    if (typeof source?.value === 'string' && source.value.startsWith('.'))
      found.push({ file, target: relative(root, resolve(root, dirname(file), source.value)) });
  };
  new Visitor({
    ImportDeclaration: note,
    ExportNamedDeclaration: note,
    ExportAllDeclaration: note,
    ImportExpression: note,
    TSImportType: note,
  }).visit(program);
  return found;
}
