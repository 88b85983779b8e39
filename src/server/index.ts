/** The API server, started from code. */
export { checkDefinition } from './apiextensions/check-definition.ts';
export type {
  AuthorizationMode,
  AutoCompactionOptions,
  EtcdOptions,
  RunningServer,
  RunningWorker,
  ServerOptions,
} from './server-options.ts';
export { startServer } from './start-server.ts';
