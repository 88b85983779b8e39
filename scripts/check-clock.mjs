/**
 * Whether everything that tells or waits for time in the way of the API does it by the process's clock (src/api/clock.ts),
 * which a test can turn for server, client and controllers at once. `Date.now`, `new Date()`, timers and
 * `performance.now` go past it: where that is right, a file or folder is listed here with the reason. Everywhere else use
 * `wallNow`, `systemClock` or `backgroundClock`, or a `clock` that was handed in.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { root, say } from './setup.mjs';

const LAYERS = ['api', 'client', 'controller', 'controllers', 'files', 'metrics', 'server', 'store'];

/** Reasons to live by the time of the machine; folders end with a slash. */
const OF_THE_MACHINE = {
  'is the clock': ['src/api/clock.ts'],
  'guards a socket, a process or a file of the system': [
    'src/client/config/',
    'src/controller/webhooks/',
    'src/controllers/garbage/watched-kinds.ts',
    'src/files/',
    'src/server/aggregation/',
    'src/server/audit/',
    'src/server/codec/yaml/yaml-aside.ts',
    'src/server/health/',
    'src/server/http/',
    'src/server/open-store.ts',
    'src/server/outbound/',
    'src/server/store-doors.ts',
    'src/server/workers/',
    'src/store/etcd/',
    'src/store/etcd-front/',
  ],
  'measures what work costs, or shares out the thread': [
    'src/client/slices.ts',
    'src/server/admission/',
    'src/server/apiextensions/conversion-webhook.ts',
    'src/server/event-loop/',
    'src/server/flow-control/',
    'src/server/metrics/',
    'src/server/storage/cacher/cache-metrics.ts',
    'src/store/embedded/',
  ],
  'waits within a request, or until the server has caught up with itself: nobody could turn the clock meanwhile': [
    'src/server/controllers/',
    'src/server/rest/conflict-line.ts',
    'src/server/rest/reading/watch-tracker.ts',
    'src/server/storage/',
  ],
  'tells of this process as it is, to people': [
    'src/client/checkpoint/checkpoint.ts',
    'src/server/introspection/',
    'src/server/openapi/openapi.ts',
    'src/server/rest/reading/open-watches.ts',
  ],
  'is about certificates, which TLS judges by the time of the machine': [
    'src/server/auth/authenticator.ts',
    'src/server/serving/pki.ts',
  ],
};

const allowed = Object.values(OF_THE_MACHINE).flat();
const used = new Set();
const faults = [];
for (const file of sources()) look(file);
for (const one of allowed)
  if (!used.has(one)) faults.push(`${one}: needs no mention in scripts/check-clock.mjs any more`);
if (faults.length > 0) {
  for (const fault of faults.sort()) console.error(fault);
  process.exit(1);
}
say('whatever tells the time of the API does so by a clock that tests can turn');

function sources() {
  return LAYERS.flatMap((layer) =>
    readdirSync(join(root, 'src', layer), { recursive: true })
      .filter((name) => name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name))
      .map((name) => join('src', layer, name)),
  );
}

function look(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`Cannot read ${file}: ${errors[0].message}`);
  const entry = allowed.find((one) => (one.endsWith('/') ? file.startsWith(one) : file === one));
  const found = (what, at) => {
    if (entry) used.add(entry);
    else
      faults.push(
        `${file}:${text.slice(0, at).split('\n').length}: ${what}: use a clock (see scripts/check-clock.mjs)`,
      );
  };
  const member = ({ type, object, property }, of, name) =>
    type === 'MemberExpression' && object.type === 'Identifier' && object.name === of && property.name === name;
  new Visitor({
    MemberExpression(node) {
      for (const [of, name] of [
        ['Date', 'now'],
        ['performance', 'now'],
        ['AbortSignal', 'timeout'],
      ])
        if (member(node, of, name)) found(`${of}.${name}`, node.start);
    },
    NewExpression({ callee, arguments: args, start }) {
      if (callee.type === 'Identifier' && callee.name === 'Date' && args.length === 0) found('new Date()', start);
    },
    CallExpression({ callee, start }) {
      if (callee.type === 'Identifier' && /^set(Timeout|Interval)$/.test(callee.name)) found(callee.name, start);
    },
    ImportDeclaration({ source, specifiers, start }) {
      if (source.value !== 'node:timers/promises') return;
      if (specifiers.some(({ imported }) => imported?.name !== 'setImmediate')) found(source.value, start);
    },
  }).visit(program);
}
