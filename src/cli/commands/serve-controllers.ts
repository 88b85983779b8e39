/**
 * Controllers beside a server, in its process: started when it listens, stopped before it is.
 *
 * The server never waits for them: it is ready when it listens, and what they need is loaded after that. What goes wrong
 * with them is a line in the log and tried again; a bug in them ends them and is said, and the server goes on.
 */
import { randomBytes } from 'node:crypto';
import { closeOnce } from '../../api/index.ts';
import { chooseControllers, isInServer } from '../../controllers/controller-names.ts';
import type { Controllers } from '../../controllers/index.ts';
import type { RunningServer, ServerOptions } from '../../server/server-options.ts';
import { logToStderr } from '../../server/serving/stderr-log.ts';

export type ControllersBeside = {
  /** As `--controllers` takes them. */
  readonly controllers: readonly string[] | undefined;
  readonly pretendNodes: number;
  readonly isElected: boolean;
};

const ACCOUNTS_PLUGIN = 'ServiceAccount';

export async function startBeside(
  startServer: (options: ServerOptions) => Promise<RunningServer>,
  given: ServerOptions,
  beside: ControllersBeside,
): Promise<RunningServer> {
  const names = chooseControllers(beside.controllers);
  // Where accounts are made for Pods, Pods get them: as of kube-apiserver, whose controllers are never far.
  const { enableAdmissionPlugins: enabled = [], disableAdmissionPlugins: disabled = [] } = given;
  const makesAccounts = names.includes('serviceaccount-controller') && !disabled.includes(ACCOUNTS_PLUGIN);
  const options = {
    ...given,
    ...(makesAccounts && { enableAdmissionPlugins: [...new Set([...enabled, ACCOUNTS_PLUGIN])] }),
    checksPolicyTypes: names.includes('validatingadmissionpolicy-status-controller'),
    countsQuotas: names.includes('resourcequota-controller'),
  };
  const isBare = names.every(isInServer);
  if (isBare && beside.pretendNodes === 0) return startServer(options);
  const controllersToken = randomBytes(32).toString('base64url');
  const server = await startServer({ ...options, controllersToken });
  const log = options.log ?? logToStderr;
  const stop = new AbortController();
  const running = load(server, controllersToken, options, beside, stop.signal).catch((err: unknown) => {
    log(`longwatch: the controllers could not be started: ${(err as Error).message}`);
    return undefined;
  });
  const close = closeOnce(async () => {
    stop.abort();
    await (await running)?.[Symbol.asyncDispose]();
    await server.close();
  });
  return { ...server, close };
}

async function load(
  { kubeconfigPath, connectInProcess: dial }: RunningServer,
  token: string,
  { log = logToStderr }: ServerOptions,
  beside: ControllersBeside,
  signal: AbortSignal,
): Promise<AsyncDisposable | undefined> {
  await new Promise((resolve) => setImmediate(resolve)); // whoever waits for the server comes first
  if (signal.aborted) return undefined;
  const { connectLoopback, startControllers } = await import('../../controllers/index.ts');
  const { client, clientFor, authorityPem } = await connectLoopback({ kubeconfigPath, token, dial });
  const onError = (message: string) => log(`longwatch: controllers: ${message}`);
  const controllers: Controllers = startControllers(client, { ...beside, clientFor, authorityPem, onError });
  controllers.ended.catch((err: unknown) => onError(`ended by ${(err as Error).stack ?? String(err)}`));
  return {
    async [Symbol.asyncDispose]() {
      await controllers[Symbol.asyncDispose]();
      await client.close();
    },
  };
}
