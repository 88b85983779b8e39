/** What tests need: a server of their own, a client that hides nothing, a network that fails, a clock turned by hand. */
export { type Answer, ApiClient, type ApiClientOptions, type Ask, type ObjectList, type Query } from './api-client.ts';
export { checkCrd } from './check-crd.ts';
export { FakeClock } from './clocks/fake-clock.ts';
export { VirtualClock, type VirtualClockOptions } from './clocks/virtual-clock.ts';
export { eventually, type Patience } from './eventually.ts';
export { type ExpectEventsOptions, expectEvents } from './expect-events.ts';
export type { ProxiedRequest } from './faults/fault-exchange.ts';
export { FaultPlan, type FaultRule, readFaults } from './faults/fault-plan.ts';
export {
  type Decide,
  type Fate,
  type FaultAnswer,
  FaultProxy,
  type FaultTarget,
  type ProxyTarget,
  startFaultProxy,
  startProxyTo,
  type Which,
} from './faults/fault-proxy.ts';
export { type RemoteTargetOptions, remoteTarget } from './faults/remote-target.ts';
export { credentialsOf, startTestServer, TestServer, type TestServerOptions } from './server/test-server.ts';
export { type StreamEvent, WatchStream } from './watch-stream.ts';
