/** The API server, started from code. */
export type {
  AuthorizationMode,
  AutoCompactionOptions,
  EtcdOptions,
  RunningServer,
  RunningWorker,
  ServerOptions,
} from './server-options.ts';
export { startServer } from './start-server.ts';
