/** What tests need: a server of their own, a client that hides nothing, a clock that is turned by hand. */
export { type Answer, ApiClient, type ApiClientOptions, type Ask, type ObjectList, type Query } from './api-client.ts';
export { FakeClock } from './fake-clock.ts';
export { credentialsOf, startTestServer, TestServer, type TestServerOptions } from './test-server.ts';
export { type StreamEvent, WatchStream } from './watch-stream.ts';
