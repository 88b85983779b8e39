/** What tests need: a server of their own, a client that hides nothing, a network that fails, a clock turned by hand. */
export { type Answer, ApiClient, type ApiClientOptions, type Ask, type ObjectList, type Query } from './api-client.ts';
export { FakeClock } from './fake-clock.ts';
export type { ProxiedRequest } from './fault-exchange.ts';
export { type FaultAnswer, FaultProxy, type FaultTarget, startFaultProxy, type Which } from './fault-proxy.ts';
export { credentialsOf, startTestServer, TestServer, type TestServerOptions } from './test-server.ts';
export { type StreamEvent, WatchStream } from './watch-stream.ts';
