/**
 * `longwatch serve`: runs the API server until it is told to stop.
 *
 * Always true: stdout gets one line, when the server is ready; everything else goes to stderr. SIGTERM and SIGINT stop
 * it gracefully with exit code 0, and so does SIGHUP when a terminal is closed; a second signal does not wait. Without a
 * terminal, as a service, SIGHUP reads certificates and tokens again. What keeps it from starting is one sentence and
 * exit code 1. The server itself is loaded only when it is to run, so that help stays quick.
 */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import type { RunningServer, ServerOptions } from '../../server/server-options.ts';
import { type ReadyFile, readyFile } from './ready-file.ts';
import { applyConfigFile } from './serve-config.ts';
import { type ControllersBeside, startBeside } from './serve-controllers.ts';
import {
  defaultWorkers,
  parseBoolean,
  parseCacheSizes,
  parseChance,
  parseControllers,
  parseCount,
  parseDuration,
  parseNames,
  parsePort,
  parseSans,
  parseSeconds,
  parseUrls,
  parseWorkers,
  type ServeFlags,
  toServerOptions,
} from './serve-flags.ts';
import { stop, untilSignalled } from './serve-lifecycle.ts';
import { logAs } from './serve-log.ts';
import { parsePortRange, parseServiceRanges } from './service-range-flags.ts';

export type StartServer = (options: ServerOptions, beside: ControllersBeside) => Promise<RunningServer>;

/** From this `--v` on, errors come with where they were thrown. */
const STACK_LEVEL = 4;

const EXAMPLES = `
Examples:
  longwatch serve
  longwatch serve --secure-port 0 --data-dir /srv/lab --ready-file /run/lab.ready
  longwatch serve --etcd-servers http://127.0.0.1:2379 --v 2 --log-format json
  longwatch serve --config server.yaml`;

export function addServeCommand(program: Command, start: StartServer = startReal): void {
  const option = (flags: string, help: string) => new Option(flags, help);
  program
    .command('serve')
    .description('run the API server')
    .addOption(option('--bind-address <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(
      option('--secure-port <port>', 'port to listen on; 0 picks a free one').default(6443).argParser(parsePort),
    )
    .addOption(
      option('--workers <n>', 'threads that serve, over one that has the store; 0: one thread does all')
        .default(
          defaultWorkers(availableParallelism(), process.platform),
          'one less than the cores, at most 8; 0 on less than 3 cores',
        )
        .argParser(parseWorkers),
    )
    .addOption(option('--data-dir <dir>', 'where everything is kept').default('.longwatch'))
    .option('--kubeconfig-out <file>', "the administrator's kubeconfig (default: <data-dir>/admin.kubeconfig)")
    .addOption(option('--etcd-servers <urls>', 'use etcd at these URLs, not the embedded store').argParser(parseUrls))
    .option('--etcd-prefix <prefix>', 'what all keys in etcd begin with (default: /registry)')
    .option('--etcd-cafile <file>', 'whom to trust for the certificate of etcd')
    .option('--etcd-certfile <file>', 'client certificate for etcd')
    .option('--etcd-keyfile <file>', 'its private key')
    .addOption(
      option('--etcd-listen-client-urls <urls>', 'serve the embedded store as an etcd, too').argParser(parseUrls),
    )
    .addOption(
      option('--watch-cache <true|false>', 'serve lists and watches from memory').default(true).argParser(parseBoolean),
    )
    .addOption(option('--default-watch-cache-size <n>', 'events each cache keeps at least').argParser(parseCount))
    .addOption(
      option('--watch-cache-sizes <sizes>', 'the same for single resources, as in pods#5000,secrets#1000').argParser(
        parseCacheSizes,
      ),
    )
    .addOption(
      option('--event-ttl <duration>', 'how long Events stay; 0s: for ever')
        .default(3_600_000, '1h')
        .argParser(parseDuration),
    )
    .addOption(
      option('--auto-compaction-mode <mode>', 'forget history by age or by number')
        .choices(['periodic', 'revision'])
        .default('periodic'),
    )
    .addOption(
      option('--auto-compaction-retention <amount>', 'how much history is kept: 5m, or a number of revisions').default(
        '5m',
      ),
    )
    .option('--tls-cert-file <file>', 'serving certificate (default: one is made)')
    .option('--tls-private-key-file <file>', 'its private key')
    .addOption(
      option('--tls-san <names>', 'names and addresses for the certificate that is made; may be repeated').argParser(
        parseSans,
      ),
    )
    .option('--client-ca-file <file>', 'trust client certificates of this authority too')
    .option('--proxy-client-cert-file <file>', 'what extension API servers know this one by (default: one is made)')
    .option('--proxy-client-key-file <file>', 'its private key')
    .option('--requestheader-client-ca-file <file>', 'its authority, for extension API servers to trust')
    .addOption(
      option(
        '--enable-aggregator-routing <true|false>',
        'reach webhooks and extension API servers at the endpoints of their Services, not at cluster addresses',
      )
        .default(false)
        .argParser(parseBoolean),
    )
    .option('--token-auth-file <file>', 'tokens, one per line: token,user,uid,"group1,group2"')
    .option('--service-account-issuer <url>', 'who signs the tokens of service accounts, by name')
    .option('--service-account-signing-key-file <file>', 'sign them with this key; without it one is made')
    .option('--audit-log-path <file>', 'write one line of JSON per request: who did what, and how it ended')
    .addOption(
      option('--audit-log-maxsize <MB>', 'set that file aside when it is this big; 0 is never')
        .default(100)
        .argParser(parseCount),
    )
    .addOption(
      option('--audit-log-maxbackup <n>', 'keep this many that were set aside; 0 is all')
        .default(10)
        .argParser(parseCount),
    )
    .addOption(
      option('--authorization-mode <mode>', 'who may do what').choices(['RBAC', 'AlwaysAllow']).default('RBAC'),
    )
    .addOption(
      option('--anonymous-auth <true|false>', 'answer requests without credentials as system:anonymous')
        .default(true)
        .argParser(parseBoolean),
    )
    .addOption(
      option(
        '--service-cluster-ip-range <cidr>',
        'give Services addresses from it; one range, or one of each family (default: 10.0.0.0/24, or what an earlier start said)',
      ).argParser(parseServiceRanges),
    )
    .addOption(
      option('--service-node-port-range <first-last>', 'give them node ports from it (default: 30000-32767)').argParser(
        parsePortRange,
      ),
    )
    .addOption(
      option('--allow-privileged <true|false>', 'pods may have privileged containers')
        .default(false)
        .argParser(parseBoolean),
    )
    .addOption(
      option('--enable-admission-plugins <names>', 'admission plugins beside those that run by default').argParser(
        parseNames,
      ),
    )
    .addOption(
      option('--disable-admission-plugins <names>', 'those that do not run, though they would by default').argParser(
        parseNames,
      ),
    )
    .addOption(
      option('--max-requests-inflight <n>', 'with the next: seats for requests at once; both 0 is no limit')
        .default(400)
        .argParser(parseCount),
    )
    .addOption(
      option('--max-mutating-requests-inflight <n>', 'added to the number of seats').default(200).argParser(parseCount),
    )
    .addOption(
      option(
        '--enable-priority-and-fairness <true|false>',
        'flow control; false counts reads and writes apart, up to the two numbers before, and sends the rest away',
      )
        .default(true)
        .argParser(parseBoolean),
    )
    .addOption(
      option('--introspection <true|false>', 'serve what the server knows of itself: kubectl get watches')
        .default(true)
        .argParser(parseBoolean),
    )
    .addOption(
      option('--request-timeout <duration>', 'longest time for anything but a watch')
        .default(60_000, '1m')
        .argParser(parseDuration),
    )
    .addOption(
      option('--min-request-timeout <seconds>', 'shortest time for a watch that names none')
        .default(1_800_000, '1800')
        .argParser(parseSeconds),
    )
    .addOption(
      option('--goaway-chance <p>', 'chance, up to 0.02, that a request is the last on its HTTP/2 connection')
        .default(0)
        .argParser(parseChance),
    )
    .addOption(
      option('--shutdown-delay-duration <duration>', 'how long all is served after SIGTERM, while /readyz fails')
        .default(0, '0s')
        .argParser(parseDuration),
    )
    .addOption(
      option(
        '--shutdown-send-retry-after <true|false>',
        'while stopping, listen until all is answered, and send new requests away with Retry-After',
      )
        .default(false)
        .argParser(parseBoolean),
    )
    .addOption(
      option('--shutdown-watch-termination-grace-period <duration>', 'over how long watches end; 0s is all at once')
        .default(0, '0s')
        .argParser(parseDuration),
    )
    .addOption(
      option(
        '--controllers <list>',
        'controllers that run beside the server: *, name, -name; -* is none (default: what a bare server needs)',
      ).argParser(parseControllers),
    )
    .addOption(
      option('--pretend-nodes <n>', 'nodes that are only pretended: Pods get scheduled and become Ready, nothing runs')
        .default(0)
        .argParser(parseCount),
    )
    .addOption(
      option(
        '--leader-elect <true|false>',
        'controllers run on one of several servers only (default: true with --etcd-servers, else false)',
      ).argParser(parseBoolean),
    )
    .addOption(
      option(
        '--v <n>',
        'how much to log: 0 what happens to the server, 2 refused requests too, 4 all requests, 6 watches as they open and close',
      )
        .default(0)
        .argParser(parseCount),
    )
    .addOption(option('--log-format <form>', 'of the log').choices(['text', 'json']).default('text'))
    .option('--config <file>', 'flags from a file, in YAML: their names without dashes; those given here count more')
    .option('--ready-file <file>', 'is there while the server is ready: its address, kubeconfig and process')
    .addHelpText('after', EXAMPLES)
    .action((flags: ServeFlags, command: Command) => serve(flags, command, start));
}

async function serve(given: ServeFlags, command: Command, start: StartServer): Promise<void> {
  let options: ServerOptions;
  let flags = given;
  let ready: ReadyFile;
  try {
    if (given.config !== undefined) {
      await applyConfigFile(command, given.config);
      flags = command.opts<ServeFlags>();
    }
    options = toServerOptions(flags);
    ready = readyFile(flags.readyFile);
  } catch (err) {
    command.error(`error: ${(err as Error).message}`);
    return;
  }
  const log = logAs(flags.logFormat);
  if (flags.logFormat !== 'text') options = { ...options, log };
  let server: RunningServer;
  try {
    server = await start(options, besideOf(flags));
  } catch (err) {
    log(`longwatch: ${err instanceof Error ? err.message : String(err)}`);
    if (flags.v >= STACK_LEVEL && err instanceof Error) log(String(err.stack));
    process.exitCode = 1;
    return;
  }
  const stopped = untilSignalled(server).then(() => {
    ready.remove();
    return stop(server, options, log);
  });
  // Since the process began, which is what a user waits for; set-up that came before it in a clone does not count.
  const begin = performance.getEntriesByName('set up')[0]?.startTime ?? 0;
  const readyMs = Math.round(performance.now() - begin);
  process.stdout.on('error', () => {}); // whoever started us need not stay to read it
  process.stdout.write(`longwatch ready ${server.url} kubeconfig=${server.kubeconfigPath} in ${readyMs} ms\n`);
  ready.write({ url: server.url, kubeconfig: server.kubeconfigPath, pid: process.pid });
  if (process.stdout.isTTY)
    log(`  Next: export KUBECONFIG=${server.kubeconfigPath}; kubectl get namespaces; longwatch top`);
  await stopped;
}

function besideOf({ controllers, pretendNodes, leaderElect, etcdServers }: ServeFlags): ControllersBeside {
  return { controllers, pretendNodes, isElected: leaderElect ?? etcdServers !== undefined };
}

async function startReal(options: ServerOptions, beside: ControllersBeside): Promise<RunningServer> {
  const { startServer } = await import('../../server/index.ts');
  return startBeside(startServer, options, beside);
}
