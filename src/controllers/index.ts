/** The controllers of a cluster, over one client: what a bare server needs, and what makes wishes come true. */
export {
  type ControllerName,
  chooseControllers,
  DEFAULT_CONTROLLERS,
  KNOWN_CONTROLLERS,
  UnknownControllerError,
} from './controller-names.ts';
export { type ClientFor, connectLoopback, type Loopback, type LoopbackOptions } from './loopback-client.ts';
export { isActive, isReady } from './pods/pod-state.ts';
export { type Controllers, type ControllersOptions, startControllers } from './start-controllers.ts';
