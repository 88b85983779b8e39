/** A process that serves, stops and must then end by itself: run by http-streams.test.ts. */
import { once } from 'node:events';
import { httpServerUnderTest, TOKEN } from './http-server-under-test.ts';

const server = await httpServerUnderTest((context) => {
  if (context.requestInfo.kind === 'other') context.send(200, 'text/plain', Buffer.from('ok'));
  else context.stream('application/json');
});
const { status } = await server.get('/version');
const watch = server.session().request({ ':path': '/api/v1/pods?watch=1', authorization: `Bearer ${TOKEN}` });
await once(watch, 'response');
watch.resume();
const ended = once(watch, 'end');
await server.httpServer.close();
await ended;
await server[Symbol.asyncDispose]();
process.stdout.write(`served ${status}, stream ended, closed\n`);
