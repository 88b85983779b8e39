/** What tests need: a server of their own, a client that hides nothing, a network that fails, a clock turned by hand. */
export { type Answer, ApiClient, type ApiClientOptions, type Ask, type ObjectList, type Query } from './api-client.ts';
export { eventually, type Patience } from './eventually.ts';
export { type ExpectEventsOptions, expectEvents } from './expect-events.ts';
export { FakeClock } from './fake-clock.ts';
export type { ProxiedRequest } from './fault-exchange.ts';
export { type FaultAnswer, FaultProxy, type FaultTarget, startFaultProxy, type Which } from './fault-proxy.ts';
export { type CrdManifest, credentialsOf, startTestServer, TestServer, type TestServerOptions } from './test-server.ts';
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';
export { type StreamEvent, WatchStream } from './watch-stream.ts';
